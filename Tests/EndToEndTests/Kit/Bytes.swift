import Glibc

/// Searches by bytes: a debug build needs seconds for the `Character`s of all sources.
extension Substring {
    /// Whether a text stands in it, which is not empty.
    func has(_ text: String) -> Bool {
        let found = utf8.withContiguousStorageIfAvailable { bytes in
            Self.isIn(UnsafeRawBufferPointer(bytes), text, text.utf8.count)
        }
        return found ?? contains(text)
    }

    private static func isIn(_ bytes: UnsafeRawBufferPointer, _ text: UnsafePointer<CChar>, _ length: Int) -> Bool {
        var (place, rest) = (bytes.baseAddress, bytes.count)
        while let start = place, rest >= length,
            let found = memchr(start, Int32(text.pointee), rest - length + 1).map({ UnsafeRawPointer($0) })
        {
            if memcmp(found, text, length) == 0 { return true }
            rest -= found + 1 - start
            place = found + 1
        }
        return false
    }

    /// The parts between bytes that are ASCII.
    func parts(between separator: Unicode.Scalar, keepingEmpty keepsEmpty: Bool = false) -> [Substring] {
        let ranges = utf8.withContiguousStorageIfAvailable { bytes in
            Self.ranges(of: UnsafeRawBufferPointer(bytes), between: Int32(separator.value))
        }
        guard let ranges else { return split(separator: Character(separator), omittingEmptySubsequences: !keepsEmpty) }
        return ranges.filter { keepsEmpty || !$0.isEmpty }.map { range in
            let start = utf8.index(startIndex, offsetBy: range.lowerBound)
            return self[start..<utf8.index(start, offsetBy: range.count)]
        }
    }

    private static func ranges(of bytes: UnsafeRawBufferPointer, between separator: Int32) -> [Range<Int>] {
        var (ranges, start): ([Range<Int>], Int) = ([], 0)
        while let base = bytes.baseAddress, let end = memchr(base + start, separator, bytes.count - start) {
            ranges.append(start..<UnsafeRawPointer(end) - base)
            start = UnsafeRawPointer(end) - base + 1
        }
        return ranges + [start..<bytes.count]
    }
}
