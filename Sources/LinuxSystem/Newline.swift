import Glibc

extension UnsafeRawBufferPointer {
    /// Where the first newline stands at or behind `start` (`memchr(3)`).
    package func firstNewline(from start: Int) -> Int? { first(0x0A, from: start) }

    /// The same of any byte.
    func first(_ byte: UInt8, from start: Int) -> Int? {
        guard start < count, let base = baseAddress else { return nil }
        return memchr(base + start, Int32(byte), count - start).map { UnsafeRawPointer($0) - base }
    }
}
