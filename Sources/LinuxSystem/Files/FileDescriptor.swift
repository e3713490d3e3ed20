import Glibc

/// The one owner of an open descriptor. It must be given up on purpose, by `close`, `release` or `use`: a descriptor
/// that is merely dropped is closed, but a debug build stops, for nobody said that its life was over.
///
/// Every function of `Linux` takes the number (`rawValue`), so that what only looks at a descriptor need not own it.
package struct FileDescriptor: ~Copyable, Sendable {
    package let rawValue: Int32

    /// Takes over an open descriptor.
    package init(owning rawValue: Int32) { self.rawValue = rawValue }

    deinit {
        _ = Glibc.close(rawValue)
        assertionFailure("descriptor \(rawValue) was dropped without being closed")
    }

    /// `close(2)`. Never repeated and never an error: on Linux the descriptor is gone whatever is returned, and what
    /// must be on disk was made sure of by `fsync(2)`.
    package consuming func close() {
        _ = Glibc.close(rawValue)
        discard self
    }

    /// Gives the descriptor away; the caller closes it.
    package consuming func release() -> Int32 {
        let rawValue = rawValue
        discard self
        return rawValue
    }

    /// Runs `body`, then closes, however it ended.
    package consuming func use<Result, Failure: Error>(
        _ body: (Int32) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let rawValue = release()
        defer { _ = Glibc.close(rawValue) }
        return try body(rawValue)
    }
}

extension Optional where Wrapped == FileDescriptor, Wrapped: ~Copyable {
    /// The number of the descriptor, where there is one.
    package var number: Int32? {
        switch self {
        case .some(let descriptor): descriptor.rawValue
        case .none: nil
        }
    }
}
