// `LogLevel` is also what travels for `SetLogLevel`: in files that see both, this means the watch file's.
import WatchFile

typealias WatchFileLogLevel = LogLevel
