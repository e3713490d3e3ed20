package import LinuxSystem

/// Waits until journald has written what was sent to it before (`journalctl --sync`): what a process has written to its
/// standard output may still stand in a socket when the process has ended. Blocks: not for `watchd.core`.
package enum JournalSync {
    private static let socket = Endpoint.unix(Array("/run/systemd/journal/io.systemd.journal".utf8))
    private static let call = Array(#"{"method":"io.systemd.Journal.Synchronize"}"#.utf8) + [0]

    /// - Parameter milliseconds: the longest wait.
    /// - Throws: EACCES: only root may ask; ENOENT: no journal runs; ETIMEDOUT.
    package static func wait(atMost milliseconds: Int32) throws(SystemError) {
        let connection = try Linux.socket(for: socket, .stream)
        try connection.use { number throws(SystemError) in
            try Linux.connect(number, socket)
            try Linux.writeAll(number, call)
            let events = try Linux.poll(number, .readable, timeout: milliseconds)
            if events.isEmpty { throw SystemError(call: "Journal.Synchronize", errno: Errno.timedOut) }
        }
    }
}
