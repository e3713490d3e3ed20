import Glibc

/// A POSIX extended regular expression (`regex(7)`) as glibc has it, over bytes: watchd stays in the C locale, where a
/// character is a byte. Not to be shared between threads.
///
/// The cost of a line is bounded, since others write the lines. glibc tries every place of a line anew, which is
/// quadratic: 1.7 s for `(a|a)*b` and 4 KiB of `a`, minutes for 64 KiB. So whether it matches is asked of a form that
/// is anchored at the start of the line and begins with any bytes: one pass, 2 to 20 ms for 64 KiB. Only a line that
/// matches is searched, for its groups, and no more than `searchedLength` bytes of it (0.3 s at the very worst). glibc
/// keeps the states of its automaton (2 KiB each), so it is made anew after `bytesPerMachine` bytes.
package final class LinePattern {
    /// Bytes of a pattern.
    package static let maximumLength = 1000
    /// The greatest size of `{m,n}` written out: `(a{50}){50}` would take seconds and 50 MB for a line.
    package static let maximumExpansion = 500
    /// The groups that `%1` to `%9` stand for.
    package static let maximumGroups = 9
    /// In a longer line the groups are those of a match that begins and ends here, else of the line's last match. One
    /// that is anchored (`^…`) is searched as a whole.
    package static let searchedLength = 2048
    private static let bytesPerMachine = 256 << 10

    private let pattern: [UInt8]
    private let isAnchored: Bool
    private var test: Machine
    private var search: Machine?
    private var bytesSeen = 0

    /// Why a pattern cannot be used, in glibc's words where it is glibc's reason.
    package struct Failure: Error, Equatable {
        package var reason: String
    }

    package init(_ pattern: [UInt8]) throws(Failure) {
        if let reason = PatternText.refusal(of: pattern) { throw Failure(reason: reason) }
        self.pattern = pattern
        isAnchored = PatternText.isAnchored(pattern)
        let plain = try Machine(pattern)
        test = try Machine(Self.anywhere(pattern))
        // Without groups nobody asks where it matches.
        search = plain.groups > 0 ? plain : nil
    }

    /// The text that its groups matched, at most nine, empty where one took no part; `nil`: the line does not match.
    package func match(_ line: [UInt8]) -> [[UInt8]]? {
        renewIfWorn(line.count)
        guard test.matches(line, upTo: line.count) else { return nil }
        guard let search else { return [] }
        let end = isAnchored ? line.count : min(line.count, Self.searchedLength)
        let groups = min(search.groups, Self.maximumGroups)
        return search.captures(line, upTo: end, after: 0, count: groups)
            // Behind the group that took what stands before, and the one that is the pattern.
            ?? test.captures(line, upTo: line.count, after: 2, count: groups)
    }

    private static func anywhere(_ pattern: [UInt8]) -> [UInt8] { Array("^([^a]|a)*(".utf8) + pattern + [0x29] }

    private func renewIfWorn(_ count: Int) {
        bytesSeen += count
        guard bytesSeen > Self.bytesPerMachine else { return }
        bytesSeen = count
        // It was compiled before; without memory for it now, the old one serves on.
        if let new = try? Machine(Self.anywhere(pattern)) { test = new }
        if search != nil, let new = try? Machine(pattern) { search = new }
    }
}

/// A `regex_t`, and its end.
private final class Machine {
    // Spelled in regex.h so that Swift cannot import them.
    private static let startEnd: Int32 = 1 << 2  // REG_STARTEND
    private static let noMatch: Int32 = 1  // REG_NOMATCH

    private let compiled: UnsafeMutablePointer<regex_t>

    init(_ pattern: [UInt8]) throws(LinePattern.Failure) {
        let place = UnsafeMutablePointer<regex_t>.allocate(capacity: 1)
        place.initialize(to: regex_t())
        let code = (pattern + [0]).withUnsafeBytes { bytes in
            regcomp(place, bytes.assumingMemoryBound(to: CChar.self).baseAddress, REG_EXTENDED)
        }
        guard code == 0 else {
            var text = [CChar](repeating: 0, count: 200)
            regerror(code, place, &text, text.count)
            // A failed compilation has freed all but its place.
            place.deallocate()
            let sentence = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            throw LinePattern.Failure(reason: sentence)
        }
        // Last: an initializer that throws before everything is set runs no deinit.
        compiled = place
    }

    deinit {
        regfree(compiled)
        compiled.deallocate()
    }

    var groups: Int { compiled.pointee.re_nsub }

    func matches(_ line: [UInt8], upTo end: Int) -> Bool { run(line, end, count: 1) != nil }

    func captures(_ line: [UInt8], upTo end: Int, after first: Int, count: Int) -> [[UInt8]]? {
        guard let found = run(line, end, count: 1 + first + count) else { return nil }
        return found[(1 + first)...].map { $0.rm_so < 0 ? [] : Array(line[Int($0.rm_so)..<Int($0.rm_eo)]) }
    }

    private func run(_ line: [UInt8], _ end: Int, count: Int) -> [regmatch_t]? {
        var places = [regmatch_t](repeating: regmatch_t(), count: count)
        places[0] = regmatch_t(rm_so: 0, rm_eo: regoff_t(end))
        let flags = Self.startEnd | (end < line.count ? REG_NOTEOL : 0)
        let code = line.withUnsafeBytes { bytes in
            // An empty array may have no address.
            let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress
            return start.map { regexec(compiled, $0, count, &places, flags) }
                ?? [CChar(0)].withUnsafeBufferPointer { empty in
                    empty.baseAddress.map { regexec(compiled, $0, count, &places, flags) } ?? Self.noMatch
                }
        }
        return code == 0 ? places : nil
    }
}
