package import Engine
package import WatchFile

/// A descriptor that outlives the daemon in the service manager's store, by the name it has there (`FDNAME=`).
///
/// | what                                             | name                                                |
/// |--------------------------------------------------|-----------------------------------------------------|
/// | the inotify descriptor                           | `inotify`                                           |
/// | the FIFO or socket of a source                   | `fifo-SOURCE`, `socket-SOURCE`                      |
/// | a connection that a source has let in            | `connection-NUMBER-SOURCE`                          |
/// | a running process, and the end of its output     | `pidfd-OPERATION-ATTEMPT-PART`, `output-OPERATION…` |
///
/// All are to be stored with `FDPOLL=0`: the manager would drop one that hangs up just when it is interesting.
package enum KeptDescriptor: Hashable, Sendable {
    case inotify
    case fifo(SourceID)
    case socket(SourceID)
    case connection(SourceID, UInt64)
    case pidfd(RunID)
    case output(RunID)

    /// As `sd_notify(3)` wants it: names of sources have at most 64 letters, digits, `_`, `.` and `-`.
    package var name: String {
        switch self {
        case .inotify: "inotify"
        case .fifo(let id): "fifo-" + id.name
        case .socket(let id): "socket-" + id.name
        case .connection(let id, let number): "connection-\(number)-" + id.name
        case .pidfd(let run): "pidfd-" + Self.encoded(run)
        case .output(let run): "output-" + Self.encoded(run)
        }
    }

    /// Reads a name in the store; `nil`: nothing that this version of watchd would store.
    package init?(name: String) {
        let parts = name.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        if name == "inotify" {
            self = .inotify
            return
        }
        guard parts.count == 2 else { return nil }
        switch (parts[0], Self.run(parts[1])) {
        case ("fifo", _): self = .fifo(SourceID(.descriptor, parts[1]))
        case ("socket", _): self = .socket(SourceID(.descriptor, parts[1]))
        case ("connection", _):
            guard let connection = Self.connection(parts[1]) else { return nil }
            self = connection
        case ("pidfd", .some(let run)): self = .pidfd(run)
        case ("output", .some(let run)): self = .output(run)
        default: return nil
        }
        // `007` is no number of ours.
        if self.name != name { return nil }
    }

    /// Of which source it is; `nil`: of none.
    var source: SourceID? {
        switch self {
        case .fifo(let id), .socket(let id), .connection(let id, _): id
        case .inotify, .pidfd, .output: nil
        }
    }

    /// The name of the same descriptor of another source; `nil`: it is of none.
    func renamed(_ id: SourceID) -> KeptDescriptor? {
        switch self {
        case .fifo: .fifo(id)
        case .socket: .socket(id)
        case .connection(_, let number): .connection(id, number)
        case .inotify, .pidfd, .output: nil
        }
    }

    /// Another one never has this name: it stands for nothing else that may be in the store.
    package var isUnique: Bool {
        switch self {
        case .connection, .pidfd, .output: true
        case .inotify, .fifo, .socket: false
        }
    }

    private static func connection(_ text: String) -> KeptDescriptor? {
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let number = UInt64(parts[0]) else { return nil }
        return .connection(SourceID(.descriptor, String(parts[1])), number)
    }

    private static func encoded(_ run: RunID) -> String { "\(run.operation)-\(run.attempt)-\(run.part)" }

    private static func run(_ text: String) -> RunID? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let operation = UInt64(parts[0]), let attempt = Int(parts[1]), let part = Int(parts[2])
        else { return nil }
        return RunID(operation: operation, attempt: attempt, part: part)
    }
}
