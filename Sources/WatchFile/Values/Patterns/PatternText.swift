/// Properties of a regular expression that are known without compiling it.
enum PatternText {
    /// Why it is not given to glibc.
    static func refusal(of pattern: [UInt8]) -> String? {
        if pattern.count > LinePattern.maximumLength { return "it has more than \(LinePattern.maximumLength) bytes" }
        var scan = Scan(pattern)
        scan.run()
        if scan.hasBackReference { return "\\1 to \\9 are not supported: they may take for ever" }
        if let escape = scan.unknownEscape { return escape.refusal }
        if scan.hasNUL { return "it has a NUL" }
        if scan.isUnbalanced { return "Unmatched ) or \\)" }
        if scan.size > LinePattern.maximumExpansion {
            let size = scan.total > Scan.mostTold ? "more than \(Scan.mostTold)" : "\(scan.total)"
            return "its repetitions come to \(size) parts, and \(LinePattern.maximumExpansion) is the limit"
        }
        return nil
    }

    /// It can match at the start of a line only: `^` stands first, and no `|` outside of groups.
    static func isAnchored(_ pattern: [UInt8]) -> Bool {
        var scan = Scan(pattern)
        scan.run()
        return pattern.first == UInt8(ascii: "^") && !scan.hasAlternatives
    }

    /// Goes over a pattern once, adding up what it comes to.
    private struct Scan {
        private let pattern: [UInt8]
        private var index = 0
        /// Of each group that is open, what stands in it so far; the whole first.
        private var sums = [0]
        /// The size of the last part, which a repetition repeats.
        private var last = 0
        private(set) var hasBackReference = false
        private(set) var hasNUL = false
        /// The first.
        private(set) var unknownEscape: PatternEscape?
        private(set) var isUnbalanced = false
        private(set) var hasAlternatives = false

        init(_ pattern: [UInt8]) { self.pattern = pattern }

        /// The parts of the pattern when its repetitions are written out.
        var total: Int { sums.reduce(0, Self.add) }

        /// Parts that a repetition multiplies; those that stand for themselves are bounded by the length.
        var size: Int { max(0, total - pattern.count) }

        private static let most = 1 << 30
        static let mostTold = 1_000_000

        private static func add(_ left: Int, _ right: Int) -> Int { min(most, left + right) }

        mutating func run() {
            while index < pattern.count {
                let byte = pattern[index]
                index += 1
                switch byte {
                case 0: hasNUL = true
                case UInt8(ascii: "\\"): escape()
                case UInt8(ascii: "["): bracket()
                case UInt8(ascii: "("): sums.append(0)
                case UInt8(ascii: ")"): close()
                case UInt8(ascii: "{"): `repeat`()
                case UInt8(ascii: "|"): hasAlternatives = hasAlternatives || sums.count == 1
                case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "?"): break
                default: part(1)
                }
            }
        }

        private mutating func part(_ size: Int) {
            last = size
            sums[sums.count - 1] = Self.add(sums[sums.count - 1], size)
        }

        private mutating func escape() {
            if index < pattern.count {
                if (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(pattern[index]) { hasBackReference = true }
                note(PatternEscape(pattern[index], isInBrackets: false))
                index += 1
            }
            part(1)
        }

        private mutating func note(_ escape: PatternEscape?) { unknownEscape = unknownEscape ?? escape }

        /// `[…]`: a `]` that stands first is a member, and so is one within `[:…:]`, `[.….]`, `[=…=]`.
        private mutating func bracket() {
            if index < pattern.count, pattern[index] == UInt8(ascii: "^") { index += 1 }
            if index < pattern.count, pattern[index] == UInt8(ascii: "]") { index += 1 }
            while index < pattern.count, pattern[index] != UInt8(ascii: "]") {
                if pattern[index] == UInt8(ascii: "["), index + 1 < pattern.count,
                    ":.=".utf8.contains(pattern[index + 1])
                {
                    let sign = pattern[index + 1]
                    index += 2
                    while index + 1 < pattern.count, !(pattern[index] == sign && pattern[index + 1] == 0x5D) {
                        index += 1
                    }
                    index += 1
                } else if pattern[index] == UInt8(ascii: "\\"), index + 1 < pattern.count {
                    note(PatternEscape(pattern[index + 1], isInBrackets: true))
                    // Two of them are one.
                    if pattern[index + 1] == UInt8(ascii: "\\") { index += 1 }
                }
                index += 1
            }
            index += 1
            part(1)
        }

        private mutating func close() {
            guard sums.count > 1 else {
                isUnbalanced = true
                return
            }
            let size = sums.removeLast()
            part(size)
        }

        /// `{m}`, `{m,}`, `{m,n}`: as many copies as the larger number says.
        private mutating func `repeat`() {
            var (number, largest) = (0, 0)
            while index < pattern.count, pattern[index] != UInt8(ascii: "}") {
                let byte = pattern[index]
                number = byte.isDigit ? min(Self.most, number * 10 + Int(byte - 0x30)) : 0
                largest = max(largest, number)
                index += 1
            }
            index += 1
            let copies = max(1, largest)
            let repeated = min(Self.most, last * copies)
            sums[sums.count - 1] = Self.add(sums[sums.count - 1], repeated - last)
            last = repeated
        }
    }
}
