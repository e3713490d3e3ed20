import LinuxSystem

/// Whether somebody may write a file, and how it stands, as a lane has seen it.
struct FileAnswer: Sendable {
    let writers: Writers
    /// `nil`: it is not there, or that cannot be known.
    let status: FileStatus?

    init(_ path: [UInt8], follows: Bool = false) {
        writers = Linux.writers(of: path, follows: follows)
        status = try? Linux.statusOfAny(path, follows: follows)
    }

    /// How a file of which nobody knows whether it is being written stood, and since when.
    struct Seen {
        var status: FileStatus?
        /// Monotonic microsecond.
        var since: Int64

        init(_ answer: FileAnswer) {
            status = answer.status
            since = Linux.now(.monotonic)
        }
    }
}
