/// One escape of `systemd.service(5)`: `\a \b \f \n \r \t \v \\ \" \' \s \xHH \nnn \uNNNN \UNNNNNNNN`.
struct Escape {
    var bytes: [UInt8]
    /// Bytes it takes in the text, the backslash included.
    var length: Int

    /// `nil` where the backslash at `index` begins no escape.
    init?(in text: ArraySlice<UInt8>, at index: Int) {
        guard index + 1 < text.endIndex else { return nil }
        let letter = Unicode.Scalar(text[index + 1])
        if let byte = Self.simple[letter] {
            self.init(bytes: [byte], length: 2)
            return
        }
        switch letter {
        case "x": self.init(number: text, at: index + 2, digits: 2, radix: 16, isCharacter: false)
        case "u": self.init(number: text, at: index + 2, digits: 4, radix: 16, isCharacter: true)
        case "U": self.init(number: text, at: index + 2, digits: 8, radix: 16, isCharacter: true)
        default: self.init(number: text, at: index + 1, digits: 3, radix: 8, isCharacter: false)
        }
        length += letter == "x" || letter == "u" || letter == "U" ? 2 : 1
    }

    private init(bytes: [UInt8], length: Int) {
        self.bytes = bytes
        self.length = length
    }

    private init?(number text: ArraySlice<UInt8>, at index: Int, digits: Int, radix: UInt32, isCharacter: Bool) {
        guard index + digits <= text.endIndex else { return nil }
        var value: UInt32 = 0
        for byte in text[index..<index + digits] {
            guard let digit = byte.hexadecimalValue, digit < radix else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: radix)
            if overflow { return nil }
            value = product + UInt32(digit)
        }
        if isCharacter {
            guard let scalar = Unicode.Scalar(value) else { return nil }
            self.init(bytes: Array(String(scalar).utf8), length: digits)
        } else {
            guard let byte = UInt8(exactly: value) else { return nil }
            self.init(bytes: [byte], length: digits)
        }
    }

    private static let simple: [Unicode.Scalar: UInt8] = [
        "a": 0x07, "b": 0x08, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B, "\\": 0x5C, "\"": 0x22, "'": 0x27,
        "s": 0x20,
    ]
}
