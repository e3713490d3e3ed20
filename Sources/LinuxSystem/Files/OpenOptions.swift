import CLinux
import Glibc

/// How `open(2)` opens. Without `writing` and `readingAndWriting` for reading; close-on-exec is always set.
package struct OpenOptions: OptionSet, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let reading = OpenOptions(rawValue: O_RDONLY)
    package static let writing = OpenOptions(rawValue: O_WRONLY)
    package static let readingAndWriting = OpenOptions(rawValue: O_RDWR)
    package static let creating = OpenOptions(rawValue: O_CREAT)
    /// With `creating`: fails with EEXIST where something stands.
    package static let exclusive = OpenOptions(rawValue: O_EXCL)
    package static let truncating = OpenOptions(rawValue: O_TRUNC)
    package static let appending = OpenOptions(rawValue: O_APPEND)
    package static let nonBlocking = OpenOptions(rawValue: O_NONBLOCK)
    package static let folder = OpenOptions(rawValue: O_DIRECTORY)
    package static let noFollow = OpenOptions(rawValue: O_NOFOLLOW)
    package static let noControllingTerminal = OpenOptions(rawValue: O_NOCTTY)
    /// O_PATH: a handle of the file, neither readable nor writable.
    package static let pathOnly = OpenOptions(rawValue: Int32(CLINUX_O_PATH))
}
