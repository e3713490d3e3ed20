/// A path: any bytes but NUL. Only what has no embedded NUL reaches the kernel; the rest is EINVAL.
package protocol SystemPath: Sendable {
    var pathBytes: [UInt8] { get }
}

extension String: SystemPath {
    package var pathBytes: [UInt8] { Array(utf8) }
}

extension [UInt8]: SystemPath {
    package var pathBytes: [UInt8] { self }
}

extension [UInt8] {
    /// The bytes as text to print: what is not UTF-8, and what a terminal may act on (`isUnprintable`), as `\xHH`; a
    /// backslash doubled. So two different names never look the same and none can forge a line of a log.
    package var printable: String { printable(doublingBackslashes: true) }

    /// Without doubled backslashes it reads better, but what looks like an escape may have stood there before.
    package func printable(doublingBackslashes: Bool) -> String {
        if isPrintableASCII(butBackslashes: doublingBackslashes) { return String(decoding: self, as: UTF8.self) }
        var result: [UInt8] = []
        var parser = Unicode.UTF8.ForwardParser()
        var (input, index) = (makeIterator(), startIndex)
        while true {
            switch parser.parseScalar(from: &input) {
            case .valid(let encoded):
                let scalar = UTF8.decode(encoded)
                if scalar.isUnprintable {
                    escape(encoded, into: &result)
                } else {
                    if scalar == "\\" && doublingBackslashes { result.append(UInt8(ascii: "\\")) }
                    result += encoded
                }
                index += encoded.count
            case .error(let length):
                escape(self[index..<(index + length)], into: &result)
                index += length
            case .emptyInput: return String(decoding: result, as: UTF8.self)
            }
        }
    }

    /// Most of what is printed is, and nothing needs to be decoded then. Raw bytes are quick to walk in a debug build too.
    private func isPrintableASCII(butBackslashes: Bool) -> Bool {
        withUnsafeBytes { bytes in
            var index = 0
            while index < bytes.count {
                let byte = bytes[index]
                if byte < 0x20 || byte >= 0x7F || butBackslashes && byte == UInt8(ascii: "\\") { return false }
                index += 1
            }
            return true
        }
    }

    private func escape(_ bytes: some Sequence<UInt8>, into text: inout [UInt8]) {
        for byte in bytes {
            text += #"\x"#.utf8
            for digit in [byte >> 4, byte & 0xF] {
                text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            }
        }
    }
}

extension Unicode.Scalar {
    /// A terminal may act on it, reverse the reading order by it, or show nothing of it: control and format characters
    /// (U+202E), separators of lines (U+2028), what is for private use.
    package var isUnprintable: Bool {
        if isASCII { return value < 0x20 || value == 0x7F }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate: true
        default: false
        }
    }
}
