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
    /// The bytes as text to print: what is not UTF-8, and control characters, as `\xHH`; a backslash doubled. So two
    /// different names never look the same and none can forge a line of a log.
    package var printable: String {
        var result = ""
        var rest = self[...]
        while !rest.isEmpty {
            let text = String(decoding: rest, as: UTF8.self)
            let valid = text.utf8.elementsEqual(rest) ? text : validPrefix(of: rest)
            for scalar in valid.unicodeScalars {
                if scalar.value < 0x20 || scalar.value == 0x7F || (0x80..<0xA0).contains(scalar.value) {
                    for byte in String(scalar).utf8 { result += escaped(byte) }
                } else {
                    result += scalar == "\\" ? "\\\\" : String(scalar)
                }
            }
            rest = rest.dropFirst(valid.utf8.count)
            if let bad = rest.popFirst() { result += escaped(bad) }
        }
        return result
    }

    private func validPrefix(of bytes: ArraySlice<UInt8>) -> String {
        var decoder = UTF8()
        var input = bytes.makeIterator()
        var text = String.UnicodeScalarView()
        while case .scalarValue(let scalar) = decoder.decode(&input) { text.append(scalar) }
        return String(text)
    }

    private func escaped(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return "\\x" + (digits.count < 2 ? "0" + digits : digits)
    }
}
