/// How `watchctl` ends, as CONTROL says.
struct ExitCode: RawRepresentable, Equatable, Sendable {
    var rawValue: Int32

    static let done = ExitCode(rawValue: 0)
    /// It did not work, or what was asked for does not exist.
    static let failed = ExitCode(rawValue: 1)
    static let usage = ExitCode(rawValue: 2)
    /// The daemon cannot be reached.
    static let unreachable = ExitCode(rawValue: 3)
    static let permissionDenied = ExitCode(rawValue: 4)
    /// EX_CONFIG of `sysexits.h`.
    static let badWatchFile = ExitCode(rawValue: 78)
    /// Of a command that could not be run, as shells have it.
    static let commandNotExecutable = ExitCode(rawValue: 126)
    static let commandNotFound = ExitCode(rawValue: 127)
}
