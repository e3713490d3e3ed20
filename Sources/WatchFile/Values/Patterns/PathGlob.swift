/// A glob on the path of a file below a folder. `*`, `?` and `[…]` stay within a name, `**` as a whole component
/// stands for any folders, also for none. A glob without a slash is about the last component alone.
package struct PathGlob: Hashable, Sendable, CustomStringConvertible {
    private enum Piece: Hashable, Sendable {
        case byte(UInt8)
        case any
        case set([ClosedRange<UInt8>], isNegated: Bool)
        case star
    }

    private enum Component: Hashable, Sendable {
        case name([Piece])
        /// `**`
        case folders
    }

    /// A letter of the text; one that is escaped stands for itself.
    struct Letter {
        var byte: UInt8
        var isEscaped = false
    }

    /// Why a text is no glob: what follows its name in a sentence.
    package struct Failure: Error {
        package let reason: String
        /// Of the letter where it is wrong.
        let index: Int
    }

    private let components: [Component]
    /// It is about the last component alone.
    package let isOfName: Bool
    /// As a watch file may write it.
    package let description: String
    private static let slash = UInt8(ascii: "/")

    package init(_ text: [UInt8]) throws(Failure) { try self.init(letters: text.map { Letter(byte: $0) }) }

    init(letters: [Letter]) throws(Failure) {
        if letters.isEmpty { throw Failure(reason: "is empty", index: 0) }
        let parts = letters.indices.split(omittingEmptySubsequences: false) { letters[$0].byte == Self.slash }
        isOfName = parts.count == 1
        var components: [Component] = []
        for (number, part) in parts.enumerated() {
            // A slash at the beginning makes a name one of the folder itself.
            if part.isEmpty, number == 0, parts.count > 1 { continue }
            components.append(try Self.component(letters, part))
        }
        self.components = components
        description = letters.map(Self.written).joined()
    }

    /// Reads what `description` wrote; `nil`: it is something else.
    package init?(description: String) {
        guard let letters = Self.letters(of: description) else { return nil }
        do throws(Failure) { try self.init(letters: letters) } catch { return nil }
    }

    /// `nil`: `written` did not write it.
    static func letters(of description: String) -> [Letter]? {
        var letters: [Letter] = []
        var rest = Substring(description)
        while let first = rest.utf8.first {
            rest = rest.dropFirst()
            guard first == UInt8(ascii: "\\") else {
                letters.append(Letter(byte: first))
                continue
            }
            let digits = rest.dropFirst().prefix(2)
            guard rest.first == "x", digits.utf8.count == 2, let byte = UInt8(digits, radix: 16) else { return nil }
            letters.append(Letter(byte: byte, isEscaped: true))
            rest = rest.dropFirst(3)
        }
        return letters
    }

    static func written(_ letter: Letter) -> String {
        let isPlain = letter.byte > 0x20 && letter.byte < 0x7F && !"\\\"'".utf8.contains(letter.byte)
        if isPlain, !letter.isEscaped || !"*?[]-!^".utf8.contains(letter.byte) {
            return String(UnicodeScalar(letter.byte))
        }
        return "\\x" + (letter.byte < 16 ? "0" : "") + String(letter.byte, radix: 16)
    }

    private static func component(_ letters: [Letter], _ part: Range<Int>) throws(Failure) -> Component {
        let bytes = letters[part].map(\.byte)
        if part.isEmpty {
            let isAtEnd = part.lowerBound == letters.count
            let reason = isAtEnd ? "ends with a slash: what is in the folder is /**" : "has two slashes together"
            throw Failure(reason: reason, index: max(0, part.lowerBound - 1))
        }
        if bytes.elementsEqual(".".utf8) || bytes.elementsEqual("..".utf8) {
            throw Failure(reason: "has . or .. as a folder, which no path below has", index: part.lowerBound)
        }
        if bytes.elementsEqual("**".utf8), !letters[part].contains(where: \.isEscaped) { return .folders }
        var pieces: [Piece] = []
        var index = part.lowerBound
        while index < part.upperBound {
            let letter = letters[index]
            switch letter.byte {
            case UInt8(ascii: "*") where !letter.isEscaped: if pieces.last != .star { pieces.append(.star) }
            case UInt8(ascii: "?") where !letter.isEscaped: pieces.append(.any)
            case UInt8(ascii: "[") where !letter.isEscaped: pieces.append(try set(letters, part, &index))
            default: pieces.append(.byte(letter.byte))
            }
            index += 1
        }
        return .name(pieces)
    }

    /// The set that begins with the `[` at the index, which is then that of its `]`.
    private static func set(_ letters: [Letter], _ part: Range<Int>, _ index: inout Int) throws(Failure) -> Piece {
        let start = index
        func isPlain(_ index: Int, _ byte: Unicode.Scalar) -> Bool {
            index < part.upperBound && !letters[index].isEscaped && letters[index].byte == UInt8(ascii: byte)
        }
        index += 1
        let isNegated = isPlain(index, "!") || isPlain(index, "^")
        if isNegated { index += 1 }
        let first = index
        var ranges: [ClosedRange<UInt8>] = []
        while index == first || !isPlain(index, "]") {
            guard index < part.upperBound else { throw Failure(reason: "has a [ without its ]", index: start) }
            if isPlain(index, "["), [":", ".", "="].contains(where: { isPlain(index + 1, $0) }) {
                throw Failure(reason: "has a class of letters in its [ ]: write them out, such as [0-9]", index: index)
            }
            let low = letters[index].byte
            var high = low
            if isPlain(index + 1, "-"), index + 2 < part.upperBound, !isPlain(index + 2, "]") {
                high = letters[index + 2].byte
                guard low <= high else { throw Failure(reason: "has a range that is empty", index: index) }
                index += 2
            }
            ranges.append(low...high)
            index += 1
        }
        return .set(ranges, isNegated: isNegated)
    }

    // MARK: Matching

    /// In time that grows with both lengths multiplied, whatever the glob.
    ///
    /// - Parameter path: below the folder, without a slash at its beginning.
    package func matches(_ path: some BidirectionalCollection<UInt8>) -> Bool {
        if isOfName { return matchesName(path) }
        // How many components of the glob the folders passed so far may stand for.
        var reachable = [Bool](repeating: false, count: components.count + 1)
        reachable[0] = true
        skipFolders(&reachable)
        for name in path.split(separator: Self.slash) {
            reachable[components.count] = false
            for index in components.indices.reversed() {
                let isHere = reachable[index]
                switch components[index] {
                case .folders:
                    if isHere, index == components.count - 1 { reachable[index + 1] = true }
                case .name(let pieces):
                    reachable[index] = false
                    if isHere, Self.match(pieces, Array(name)) { reachable[index + 1] = true }
                }
            }
            skipFolders(&reachable)
        }
        return reachable[components.count]
    }

    private func matchesName(_ path: some BidirectionalCollection<UInt8>) -> Bool {
        let name = Array(path.reversed().prefix { $0 != Self.slash }.reversed())
        switch components[0] {
        case .folders: return true
        case .name(let pieces): return Self.match(pieces, name)
        }
    }

    /// But for the last component: what is in a folder is not the folder.
    private func skipFolders(_ reachable: inout [Bool]) {
        for index in components.indices.dropLast() where reachable[index] && components[index] == .folders {
            reachable[index + 1] = true
        }
    }

    /// A star that does not fit takes one letter more, the last of them: those before it need not be tried again.
    private static func match(_ pieces: [Piece], _ name: [UInt8]) -> Bool {
        var (piece, letter) = (0, 0)
        var star: (piece: Int, letter: Int)?
        while letter < name.count {
            if piece < pieces.count, pieces[piece] == .star {
                star = (piece, letter)
                piece += 1
            } else if piece < pieces.count, match(pieces[piece], name[letter]) {
                piece += 1
                letter += 1
            } else if let last = star {
                star = (last.piece, last.letter + 1)
                (piece, letter) = (last.piece + 1, last.letter + 1)
            } else {
                return false
            }
        }
        return pieces[piece...].allSatisfy { $0 == .star }
    }

    private static func match(_ piece: Piece, _ letter: UInt8) -> Bool {
        switch piece {
        case .byte(let byte): byte == letter
        case .any: true
        case .set(let ranges, let isNegated): ranges.contains { $0.contains(letter) } != isNegated
        case .star: false
        }
    }
}
