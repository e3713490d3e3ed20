/// A line of an ignore file (`gitignore(5)`; `dir.c` of git where that is silent).
package struct IgnorePattern: Hashable, Sendable {
    private enum Form: Hashable, Sendable {
        /// The last component is this.
        case name([UInt8])
        /// It ends with this (`*.o`).
        case nameEnd([UInt8])
        case nameLike(WildPattern)
        /// The path below the folder begins with this, and the rest is like that; `nil`: there is no rest.
        case path([UInt8], WildPattern?)
    }

    /// As it is written, without spaces at its end.
    package let text: [UInt8]
    /// Of its file, from 1.
    package let line: Int
    /// `!`: what it matches is not ignored.
    package let isNegated: Bool
    /// `/` at its end: it matches folders alone.
    private let isOfFolders: Bool
    private let form: Form
    private static let slash = UInt8(ascii: "/")

    /// `nil`: nothing matches it.
    init?(_ text: [UInt8], line: Int) {
        var pattern = text[...]
        isNegated = pattern.first == UInt8(ascii: "!")
        if isNegated { pattern = pattern.dropFirst() }
        let literal = pattern.prefix { !Self.isSpecial($0) }.count
        let isEnd = pattern.first == UInt8(ascii: "*") && !pattern.dropFirst().contains(where: Self.isSpecial)
        isOfFolders = pattern.last == Self.slash
        if isOfFolders { pattern = pattern.dropLast() }
        guard !pattern.isEmpty, let form = Self.form(pattern, min(literal, pattern.count), isEnd) else { return nil }
        (self.text, self.line, self.form) = (text, line, form)
    }

    /// - Parameter literal: so many letters stand for themselves.
    private static func form(_ pattern: ArraySlice<UInt8>, _ literal: Int, _ isEnd: Bool) -> Form? {
        if !pattern.contains(slash) {
            if literal == pattern.count { return .name(Array(pattern)) }
            if isEnd { return .nameEnd(Array(pattern.dropFirst())) }
            return WildPattern(Array(pattern)).map { .nameLike($0) }
        }
        var start = pattern.prefix(literal)
        let rest = pattern.dropFirst(literal)
        if start.first == slash { start = start.dropFirst() }
        if rest.isEmpty { return .path(Array(start), nil) }
        // git as well takes the rest by itself: `a**/b` is `a` and then `**/b`.
        return WildPattern(Array(rest)).map { .path(Array(start), $0) }
    }

    private static func isSpecial(_ byte: UInt8) -> Bool { "*?[\\".utf8.contains(byte) }

    /// - Parameters:
    ///   - path: below the folder of the ignore file.
    ///   - name: its last component.
    ///   - steps: those that are left.
    func matches(_ path: ArraySlice<UInt8>, name: ArraySlice<UInt8>, isFolder: Bool, steps: inout Int) -> Bool {
        steps -= 1
        if isOfFolders, !isFolder { return false }
        switch form {
        case .name(let text): return name.elementsEqual(text)
        case .nameEnd(let end): return name.count >= end.count && name.suffix(end.count).elementsEqual(end)
        case .nameLike(let pattern): return pattern.matches(name, steps: &steps)
        case .path(let start, let rest):
            guard path.starts(with: start) else { return false }
            let left = path.dropFirst(start.count)
            return rest.map { $0.matches(left, steps: &steps) } ?? left.isEmpty
        }
    }
}
