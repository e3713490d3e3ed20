/// The patterns of one ignore file, read as git reads it: bytes that need not be text.
package struct IgnoreFile: Hashable, Sendable {
    /// Bytes of a file.
    package static let maximumLength = 262_144
    package static let maximumPatterns = 10_000

    /// Why a file is not applied.
    package enum Failure: Error, Hashable, Sendable {
        case tooLong, tooManyPatterns
    }

    /// In the order of their lines.
    package let patterns: [IgnorePattern]

    package init(_ bytes: [UInt8]) throws(Failure) {
        guard bytes.count <= Self.maximumLength else { throw .tooLong }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...]
        var patterns: [IgnorePattern] = []
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            guard let first = line.first, first != UInt8(ascii: "#"),
                let pattern = IgnorePattern(Self.trimmed(line), line: index + 1)
            else { continue }
            guard patterns.count < Self.maximumPatterns else { throw .tooManyPatterns }
            patterns.append(pattern)
        }
        self.patterns = patterns
    }

    /// Without a carriage return, what follows a NUL, and spaces at the end that are not escaped.
    private static func trimmed(_ line: ArraySlice<UInt8>) -> [UInt8] {
        let line = (line.last == UInt8(ascii: "\r") ? line.dropLast() : line).prefix { $0 != 0 }
        var spaces: Int?
        var index = line.startIndex
        while index < line.endIndex {
            if line[index] == UInt8(ascii: " ") {
                spaces = spaces ?? index
            } else {
                spaces = nil
                if line[index] == UInt8(ascii: "\\") { index += 1 }
            }
            index += 1
        }
        return Array(line[..<(spaces ?? line.endIndex)])
    }

    /// The last pattern that matches.
    ///
    /// - Parameter path: below the folder of this file.
    func pattern(for path: ArraySlice<UInt8>, isFolder: Bool, steps: inout Int) -> IgnorePattern? {
        let name = path[((path.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex - 1) + 1)...]
        for pattern in patterns.reversed() {
            let isMatch = pattern.matches(path, name: name, isFolder: isFolder, steps: &steps)
            guard steps > 0 else { return nil }
            if isMatch { return pattern }
        }
        return nil
    }
}
