import LinuxSystem

/// `Match=`: a glob on a whole path. `*`, `?` and `[…]` stay within a folder, `**` crosses folders; `/**/` also means
/// none at all. A `[` without its end means itself.
package struct ExecutablePattern: Equatable, Sendable {
    private enum Piece: Equatable, Sendable {
        case byte(UInt8)
        case any
        case set([ClosedRange<UInt8>], isNegated: Bool)
        case star
        case doubleStar
        /// `**/` behind a slash: nothing at all, or what the next piece matches.
        case gate
        /// Folders, each with its slash.
        case folders
    }

    private let pieces: [Piece]
    private static let slash = UInt8(ascii: "/")

    package init(_ text: [UInt8]) {
        var pieces: [Piece] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "*"):
                guard rest.first == byte else {
                    pieces.append(.star)
                    continue
                }
                rest = rest.drop { $0 == byte }
                if pieces.last == .byte(Self.slash), rest.first == Self.slash {
                    rest = rest.dropFirst()
                    pieces += [.gate, .folders]
                } else {
                    pieces.append(.doubleStar)
                }
            case UInt8(ascii: "?"): pieces.append(.any)
            case UInt8(ascii: "["): pieces.append(Self.set(&rest) ?? .byte(byte))
            default: pieces.append(.byte(byte))
            }
        }
        self.pieces = pieces
    }

    /// A pattern, and where there are links before its first glob also the one without them: a process tells its
    /// executable without links. Asks the kernel for those as they are now.
    package static func following(_ text: [UInt8]) -> [ExecutablePattern] {
        let whole = [ExecutablePattern(text)]
        let fixed = text.prefix { !"*?[".utf8.contains($0) }
        let folder = fixed.prefix(upTo: fixed.lastIndex(of: slash) ?? 0)
        for part in fixed.count == text.count ? [fixed, folder] : [folder] where !part.isEmpty {
            guard let real = try? Linux.realPath(Array(part)) else { continue }
            return real == Array(part) ? whole : whole + [ExecutablePattern(real + text.dropFirst(part.count))]
        }
        return whole
    }

    /// The set behind a `[`.
    private static func set(_ rest: inout ArraySlice<UInt8>) -> Piece? {
        var inside = rest
        let isNegated = inside.first.map { "!^".utf8.contains($0) } ?? false
        if isNegated { inside = inside.dropFirst() }
        // The first one may be a `]`.
        guard let end = inside.dropFirst().firstIndex(of: UInt8(ascii: "]")) else { return nil }
        var ranges: [ClosedRange<UInt8>] = []
        var letters = inside[..<end]
        while let low = letters.popFirst() {
            guard letters.first == UInt8(ascii: "-"), let high = letters.dropFirst().first else {
                ranges.append(low...low)
                continue
            }
            if low <= high { ranges.append(low...high) }
            letters = letters.dropFirst(2)
        }
        rest = rest[(end + 1)...]
        return .set(ranges, isNegated: isNegated)
    }

    /// In time that grows with both lengths multiplied, whatever the pattern.
    package func matches(_ path: [UInt8]) -> Bool {
        var reachable = [Bool](repeating: false, count: pieces.count + 1)
        reachable[0] = true
        skipStars(&reachable)
        for byte in path {
            var next = [Bool](repeating: false, count: pieces.count + 1)
            for (index, piece) in pieces.enumerated() where reachable[index] {
                switch piece {
                case .byte(let wanted): if wanted == byte { next[index + 1] = true }
                case .any: if byte != Self.slash { next[index + 1] = true }
                case .set(let ranges, let isNegated):
                    if byte != Self.slash, ranges.contains(where: { $0.contains(byte) }) != isNegated {
                        next[index + 1] = true
                    }
                case .star: if byte != Self.slash { next[index] = true }
                case .doubleStar: next[index] = true
                case .gate: break
                case .folders:
                    next[index] = true
                    if byte == Self.slash { next[index + 1] = true }
                }
            }
            reachable = next
            skipStars(&reachable)
        }
        return reachable[pieces.count]
    }

    /// A star may stand for nothing.
    private func skipStars(_ reachable: inout [Bool]) {
        for (index, piece) in pieces.enumerated() where reachable[index] {
            switch piece {
            case .star, .doubleStar: reachable[index + 1] = true
            case .gate:
                reachable[index + 1] = true
                reachable[index + 2] = true
            case .byte, .any, .set, .folders: break
            }
        }
    }
}
