// The engine has a `Command` too: in files that see both, this means the one of a watch file.
import WatchFile

typealias CommandWords = Command
