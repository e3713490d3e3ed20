/// How `watchctl` ends, as CONTROL says.
enum ExitCode: Int32 {
    case done = 0
    /// It did not work, or what was asked for does not exist.
    case failed = 1
    case usage = 2
    /// The daemon cannot be reached.
    case unreachable = 3
    case permissionDenied = 4
    /// EX_CONFIG of `sysexits.h`.
    case badWatchFile = 78
    /// Of a command that could not be run, as shells have it.
    case commandNotExecutable = 126
    case commandNotFound = 127
}
