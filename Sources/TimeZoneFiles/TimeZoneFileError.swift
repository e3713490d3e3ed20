package import LinuxSystem
package import Schedule

/// Why the rules of a zone could not be read.
package enum TimeZoneFileError: Error, Hashable, Sendable {
    /// Not letters, digits, `-`, `_` and `+`, with slashes between them.
    case notAName
    /// There is no such file, or it cannot be read.
    case unreadable(SystemError)
    case damaged(TimeZoneError)

    /// There is no such zone, and nothing that could become readable.
    var isAbsence: Bool {
        switch self {
        case .notAName: true
        case .unreadable(let error): [.noSuchFile, .notFolder].contains(error.errno)
        case .damaged: false
        }
    }
}

extension TimeZoneFileError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notAName: "not the name of a time zone"
        case .unreadable(let error): "cannot be read: \(error.errno)"
        case .damaged(let error): error.description
        }
    }
}
