import LinuxSystem

/// Why the store cannot be used.
package enum StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    // Somebody has to do something before watchd can start.
    /// Another watchd has it open.
    case locked(folder: [UInt8], pid: Int32?)
    /// It was written by a later version.
    case newer(path: [UInt8], version: Int, known: Int)
    /// Something else stands in its place, a folder for example.
    case notAFile(path: [UInt8])
    /// A file stands in the place of the folder, or of one above it.
    case notAFolder(path: [UInt8])
    /// The folder, a file in it, or a folder above it belongs to somebody who is neither root nor the daemon's user.
    case foreign(path: [UInt8], owner: UInt32)
    /// One of these may be written by others.
    case writable(path: [UInt8])
    /// A file has another name too, by which others may have put it there.
    case linked(path: [UInt8])

    // An error that may heal by itself.
    case full(path: [UInt8])
    case readOnly(path: [UInt8])
    /// The folder or the file was removed.
    case gone(path: [UInt8])
    case damaged(path: [UInt8], detail: String)
    case unavailable(path: [UInt8], detail: String)
    /// A call that writes to its disk does not return.
    case silent(path: [UInt8])

    /// Trying again later may help.
    package var isTransient: Bool {
        switch self {
        case .locked, .newer, .notAFile, .notAFolder, .foreign, .writable, .linked: false
        case .full, .readOnly, .gone, .damaged, .unavailable, .silent: true
        }
    }

    package var description: String {
        switch self {
        case .locked(let folder, let pid):
            "\(folder.printable) is in use by another watchd\(pid.map { ", process \($0)" } ?? ""); "
                + "stop that one, or give this one a StateDirectory= of its own"
        case .newer(let path, let version, let known):
            "\(path.printable) is of version \(version), this watchd knows \(known): install the newer watchd again, "
                + "or move the file away, and with it what durable queues have accepted"
        case .notAFile(let path): "\(path.printable) is no regular file, or is a link; move it away"
        case .notAFolder(let path): "\(path.printable) is no folder; move it away"
        case .foreign(let path, let owner):
            "\(path.printable) belongs to user \(owner), who is neither root nor the user of watchd, and could choose what "
                + "watchd runs; give it to the user of watchd (chown \(Linux.effectiveUserID)), or move it away"
        case .writable(let path):
            "\(path.printable) may be written by others than its owner, who could choose what watchd runs; see that "
                + "nothing in it is theirs, then take that away from them (chmod go-w), or name another StateDirectory="
        case .linked(let path):
            "\(path.printable) has another name (a hard link), by which others may change it; remove that name, or move "
                + "it away"
        case .full(let path): "no space left for \(path.printable)"
        case .readOnly(let path): "\(path.printable) cannot be written: read-only"
        case .gone(let path): "\(path.printable) was removed"
        case .damaged(let path, let detail): "\(path.printable) is damaged: \(detail)"
        case .unavailable(let path, let detail): "\(path.printable): \(detail)"
        case .silent(let path): "the disk of \(path.printable) does not answer"
        }
    }
}
