// The control interface has types of the same names, for what travels: in files that see both, these mean the engine's.
import Engine

typealias EngineCounters = Counters
typealias EngineSuspension = Suspension
typealias EngineReply = Reply
typealias EngineResult = Result
typealias EngineCommand = Command
typealias EngineProblem = CommandError
