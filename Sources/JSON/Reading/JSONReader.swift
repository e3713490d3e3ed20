/// Reads a JSON text once, from its first byte to its last.
///
/// Our own, since no library says all that has to be told. jansson 2.14 refuses half a surrogate pair, a number beyond 64
/// bits, a name that is there twice and one with U+0000 without the path to it, and takes `1e-400` for 0; json-c 0.16
/// takes `NaN`, `1.` and bare control characters even when it is strict, hides members that are there twice, and cuts
/// names at U+0000; FoundationEssentials' decoder takes time cubic in the nesting for a member that nobody reads. Beside
/// one of them a second reader would have to look for the place of a fault. `JSONTextTests` compares this one with
/// Foundation on texts at random, and `Tests/Fuzz/run connection` feeds it whole connections.
///
/// It ends on every input, after as many steps as there are bytes: bytes are passed by `next` and `skip` alone, which
/// go forwards; each turn of a loop and each level of recursion passes at least one. Levels are bounded.
struct JSONReader {
    private let bytes: [UInt8]
    private let limits: JSONText.Limits
    private var index = 0
    private var depth = 0
    /// Names of the members that are being read, from the outermost.
    private var path: [String] = []
    private(set) var fault: JSONFault?

    init(_ bytes: [UInt8], limits: JSONText.Limits) {
        self.bytes = bytes
        self.limits = limits
    }

    /// The one value of the text.
    mutating func text() throws(JSONSyntaxError) -> JSONValue {
        let value = try value()
        skipBlanks()
        guard peek == nil else { throw .notJSON }
        return value
    }

    // MARK: Bytes

    private var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func next() throws(JSONSyntaxError) -> UInt8 {
        guard index < bytes.count else { throw .notJSON }
        index += 1
        return bytes[index - 1]
    }

    /// - Returns: whether the next byte is that one, which is passed then.
    private mutating func skip(_ byte: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: byte) else { return false }
        index += 1
        return true
    }

    private mutating func skipBlanks() {
        while skip(" ") || skip("\n") || skip("\r") || skip("\t") {}
    }

    private mutating func expect(_ word: StaticString) throws(JSONSyntaxError) {
        for offset in 0..<word.utf8CodeUnitCount {
            guard try next() == word.utf8Start[offset] else { throw .notJSON }
        }
    }

    /// The first one counts. It says where it is, which may be long: others are not even made.
    private mutating func find(_ fault: (JSONReader) -> JSONFault) {
        if self.fault == nil { self.fault = fault(self) }
    }

    // MARK: Values

    private mutating func value() throws(JSONSyntaxError) -> JSONValue {
        skipBlanks()
        switch peek {
        case UInt8(ascii: "{"): return try nested { reader throws(JSONSyntaxError) in try reader.object() }
        case UInt8(ascii: "["): return try nested { reader throws(JSONSyntaxError) in try reader.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"):
            try expect("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try expect("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try expect("null")
            return .null
        default: return try number()
        }
    }

    private mutating func nested(
        _ body: (inout JSONReader) throws(JSONSyntaxError) -> JSONValue
    ) throws(JSONSyntaxError) -> JSONValue {
        guard depth < limits.nesting else { throw .tooDeep(limits.nesting) }
        depth += 1
        let value = try body(&self)
        depth -= 1
        return value
    }

    private mutating func array() throws(JSONSyntaxError) -> JSONValue {
        var elements: [JSONValue] = []
        _ = try next()
        skipBlanks()
        if skip("]") { return .array(elements) }
        repeat {
            elements.append(try value())
            skipBlanks()
        } while skip(",")
        guard skip("]") else { throw .notJSON }
        return .array(elements)
    }

    private mutating func object() throws(JSONSyntaxError) -> JSONValue {
        var members: [String: JSONValue] = [:]
        _ = try next()
        skipBlanks()
        if skip("}") { return .object(members) }
        repeat {
            skipBlanks()
            let (name, problem) = try quoted()
            path.append(name)
            if members[name] != nil { find { .twice($0.path) } }
            note(problem)
            skipBlanks()
            guard skip(":") else { throw .notJSON }
            members[name] = try value()
            path.removeLast()
            skipBlanks()
        } while skip(",")
        guard skip("}") else { throw .notJSON }
        return .object(members)
    }

    // MARK: Strings

    /// Why a string cannot be kept as it is written.
    private enum Problem {
        /// It has the half of a surrogate pair that has no other half, written so.
        case half(String)
        case marks
    }

    private mutating func note(_ problem: Problem?) {
        switch problem {
        case .half(let escape): find { .half($0.path, escape) }
        case .marks: find { .marks($0.path, $0.limits.combiningMarks) }
        case nil: break
        }
    }

    private mutating func string() throws(JSONSyntaxError) -> String {
        let (string, problem) = try quoted()
        note(problem)
        return string
    }

    /// A string in its quotes.
    private mutating func quoted() throws(JSONSyntaxError) -> (String, Problem?) {
        guard skip("\"") else { throw .notJSON }
        var plain: [UInt8] = []
        var problem: Problem?
        var start = index
        while true {
            switch try next() {
            case UInt8(ascii: "\""):
                plain += bytes[start..<index - 1]
                guard let string = String(validating: plain, as: UTF8.self) else { throw .notJSON }
                return string.hasMarks(inARow: limits.combiningMarks) ? ("\u{FFFD}", .marks) : (string, problem)
            case UInt8(ascii: "\\"):
                plain += bytes[start..<index - 1]
                let scalar = try escaped()
                plain += String(scalar ?? "\u{FFFD}").utf8
                if scalar == nil { problem = problem ?? .half(text(index - 6..<index)) }
                start = index
            case 0..<0x20: throw .notJSON
            default: break
            }
        }
    }

    /// The character behind a backslash; `nil`: the half of a surrogate pair.
    private mutating func escaped() throws(JSONSyntaxError) -> Unicode.Scalar? {
        switch try next() {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw .notJSON
        }
        let unit = try unit()
        guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) }
        // The other half, if that is what follows.
        var ahead = self
        guard ahead.skip("\\"), ahead.skip("u"), let other = try? ahead.unit(), UTF16.isTrailSurrogate(other) else {
            return nil
        }
        index = ahead.index
        return Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(other) - 0xDC00))
    }

    /// Four hexadecimal digits.
    private mutating func unit() throws(JSONSyntaxError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(try next())).hexDigitValue else { throw .notJSON }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    // MARK: Numbers

    private mutating func number() throws(JSONSyntaxError) -> JSONValue {
        let start = index
        let isNegative = skip("-")
        let whole = index
        try digits()
        // No number begins with a needless zero.
        guard bytes[whole] != UInt8(ascii: "0") || index == whole + 1 else { throw .notJSON }
        let end = index
        if skip(".") { try digits() }
        let mantissa = start..<index
        if skip("e") || skip("E") {
            _ = skip("+") || skip("-")
            try digits()
        }
        return index == end
            ? wholeNumber(whole..<end, isNegative: isNegative) : double(start..<index, mantissa: mantissa)
    }

    private mutating func digits() throws(JSONSyntaxError) {
        guard try Self.isDigit(next()) else { throw .notJSON }
        while let byte = peek, Self.isDigit(byte) { _ = try next() }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private mutating func wholeNumber(_ digits: Range<Int>, isNegative: Bool) -> JSONValue {
        var number: Int64 = 0
        for digit in bytes[digits] {
            let (shifted, overflows) = number.multipliedReportingOverflow(by: 10)
            let value = Int64(digit - UInt8(ascii: "0"))
            let (sum, overflowsToo) = shifted.addingReportingOverflow(isNegative ? -value : value)
            guard !overflows, !overflowsToo else {
                find { .wholeNumber($0.path, (isNegative ? "-" : "") + $0.text(digits)) }
                return .null
            }
            number = sum
        }
        return .int(number)
    }

    private mutating func double(_ range: Range<Int>, mantissa: Range<Int>) -> JSONValue {
        let isZero = !bytes[mantissa].contains { (UInt8(ascii: "1")...UInt8(ascii: "9")).contains($0) }
        guard let double = Double(text(range)), double.isFinite, double != 0 || isZero else {
            find { .number($0.path, $0.text(range)) }
            return .null
        }
        // Beyond 2⁵³ another whole number may stand there than the one that is written.
        let isExact = double.magnitude <= 0x1p53
        return (isExact ? Int64(exactly: double) : nil).map { .int($0) } ?? .double(double)
    }
}

extension String {
    /// Whether more than so many combining marks follow one another.
    fileprivate func hasMarks(inARow limit: Int) -> Bool {
        // The first one is U+0300.
        guard utf8.count > limit, utf8.contains(where: { $0 >= 0xCC }) else { return false }
        var count = 0
        for scalar in unicodeScalars {
            count = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : count + 1
            if count > limit { return true }
        }
        return false
    }
}
