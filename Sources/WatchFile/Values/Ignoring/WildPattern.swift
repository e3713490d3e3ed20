/// A pattern as git matches it (`wildmatch.c` with WM_PATHNAME). `*`, `?` and `[…]` stay within a name; `**` crosses
/// folders where it stands between slashes, and is a `*` elsewhere.
struct WildPattern: Hashable, Sendable {
    private enum Piece: Hashable, Sendable {
        case byte(UInt8)
        case any
        case set(ByteSet)
        case star
        /// `**/`: any folders. With a slash that is escaped, at least one.
        case folders(isOptional: Bool)
        /// `**` at the end.
        case rest
    }

    private static let slash = UInt8(ascii: "/")
    private static let backslash = UInt8(ascii: "\\")

    private let pieces: [Piece]

    /// `nil`: nothing matches it, as with a `[` without its `]` or a backslash at the end.
    init?(_ text: [UInt8]) {
        var pieces: [Piece] = []
        var index = 0
        while index < text.count {
            switch text[index] {
            case Self.backslash:
                guard index + 1 < text.count else { return nil }
                pieces.append(.byte(text[index + 1]))
                index += 2
            case UInt8(ascii: "?"):
                pieces.append(.any)
                index += 1
            case UInt8(ascii: "*"): pieces.append(Self.stars(text, &index))
            case UInt8(ascii: "["):
                guard let set = ByteSet(brackets: text, &index) else { return nil }
                pieces.append(.set(set))
            case let byte:
                pieces.append(.byte(byte))
                index += 1
            }
        }
        self.pieces = pieces
    }

    /// The stars at the index, which is then behind them.
    private static func stars(_ text: [UInt8], _ index: inout Int) -> Piece {
        let start = index
        while index < text.count, text[index] == UInt8(ascii: "*") { index += 1 }
        guard index - start > 1, start == 0 || text[start - 1] == slash else { return .star }
        if index == text.count { return .rest }
        if text[index] == slash {
            index += 1
            return .folders(isOptional: true)
        }
        guard text[index] == backslash, index + 1 < text.count, text[index + 1] == slash else { return .star }
        index += 2
        return .folders(isOptional: false)
    }

    /// - Parameter steps: those that are left; when there are none any more, it does not match.
    func matches(_ text: ArraySlice<UInt8>, steps: inout Int) -> Bool {
        var (piece, letter) = (0, text.startIndex)
        // What a star, or folders, may still take: the last of them, those before it need not be tried again.
        var star: (piece: Int, letter: Int)?
        var folders: (piece: Int, letter: Int)?
        while steps > 0 {
            steps -= 1
            if piece == pieces.count, letter == text.endIndex { return true }
            switch piece < pieces.count ? pieces[piece] : nil {
            case .rest?: return true
            case .star?:
                piece += 1
                star = (piece, letter)
                continue
            case .folders(let isOptional)?:
                piece += 1
                (star, folders) = (nil, (piece, letter))
                if isOptional { continue }
            case let plain?:
                if letter < text.endIndex, Self.isMatch(plain, text[letter]) {
                    (piece, letter) = (piece + 1, letter + 1)
                    continue
                }
            case nil: break
            }
            if let last = star, last.letter < text.endIndex, text[last.letter] != Self.slash {
                star = (last.piece, last.letter + 1)
                (piece, letter) = (last.piece, last.letter + 1)
            } else if let last = folders, let next = text[last.letter...].firstIndex(of: Self.slash) {
                steps -= next - last.letter
                (star, folders) = (nil, (last.piece, next + 1))
                (piece, letter) = (last.piece, next + 1)
            } else {
                return false
            }
        }
        return false
    }

    private static func isMatch(_ piece: Piece, _ letter: UInt8) -> Bool {
        switch piece {
        case .byte(let byte): byte == letter
        case .any: letter != slash
        case .set(let set): letter != slash && set.contains(letter)
        case .star, .folders, .rest: false
        }
    }
}
