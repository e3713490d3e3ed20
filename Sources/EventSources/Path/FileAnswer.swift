import LinuxSystem

/// Whether somebody may write a file, and how it stands, as a lane has seen it.
struct FileAnswer: Sendable {
    let writers: Writers
    /// `nil`: it is not there, or that cannot be known.
    let status: FileStatus?
    /// The file, where somebody writes it: to be watched.
    let place: OpenPlace?

    init(_ path: [UInt8], follows: Bool = false) {
        writers = Linux.writers(of: path, follows: follows)
        status = try? Linux.statusOfAny(path, follows: follows)
        place = writers == .some ? OpenPlace(path, follows: follows, inode: status?.inode) : nil
    }

    /// A file that was opened without reading or writing it (`open(2)` O_PATH), until nobody needs it any more.
    final class OpenPlace: Sendable {
        let number: Int32

        /// Fails where another file stands by now.
        init?(_ path: [UInt8], follows: Bool, inode: UInt64?) {
            let options: OpenOptions = follows ? [.pathOnly] : [.pathOnly, .noFollow]
            guard let inode, let number = try? Linux.open(path, options).release() else { return nil }
            self.number = number
            // Thrown away, it is closed.
            guard (try? Linux.fstat(number))?.inode == inode else { return nil }
        }

        deinit { FileDescriptor(owning: number).close() }
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
