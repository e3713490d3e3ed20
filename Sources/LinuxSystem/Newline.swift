import Glibc

extension UnsafeRawBufferPointer {
    /// Where the first newline stands at or behind `start` (`memchr(3)`).
    package func firstNewline(from start: Int) -> Int? {
        guard start < count, let base = baseAddress else { return nil }
        return memchr(base + start, 0x0A, count - start).map { UnsafeRawPointer($0) - base }
    }
}
