/// The text of an environment file, read as systemd reads one (`EnvironmentFile=` of `systemd.exec(5)`): lines of
/// `NAME=value`; comments begin with `#` or `;`; quotes may begin a value and stand behind one another; outside of single
/// quotes a backslash takes the next byte as it is, and joins lines.
enum EnvironmentText {
    private enum State {
        case beforeName, name, beforeValue, value, valueEscape, singleQuotes, doubleQuotes, doubleQuotesEscape
        case comment, commentEscape
    }

    /// In the order of the lines; names are not checked.
    static func variables(in text: [UInt8]) -> [(name: [UInt8], value: [UInt8])] {
        var reader = Reader()
        for byte in text { reader.take(byte) }
        reader.end()
        return reader.found
    }

    private struct Reader {
        private(set) var found: [(name: [UInt8], value: [UInt8])] = []
        private var state = State.beforeName
        private var name: [UInt8] = []
        private var value: [UInt8] = []
        /// Bytes of the value that stay, though they are white space at its end.
        private var kept = 0

        mutating func take(_ byte: UInt8) {
            let (isNewline, isSpace) = (byte == 0x0A || byte == 0x0D, [0x20, 0x09, 0x0A, 0x0D].contains(byte))
            switch state {
            case .beforeName:
                if "#;".utf8.contains(byte) {
                    state = .comment
                } else if !isSpace {
                    (name, state) = ([byte], .name)
                }
            case .name:
                if isNewline {
                    state = .beforeName
                } else if byte == UInt8(ascii: "=") {
                    (value, kept, state) = ([], 0, .beforeValue)
                } else {
                    name.append(byte)
                }
            case .beforeValue, .value: takeValue(byte, isNewline, isSpace)
            case .valueEscape:
                state = .value
                if !isNewline { keep([byte]) }
            case .singleQuotes: if byte == UInt8(ascii: "'") { state = .beforeValue } else { keep([byte]) }
            case .doubleQuotes:
                switch byte {
                case UInt8(ascii: "\""): state = .beforeValue
                case UInt8(ascii: "\\"): state = .doubleQuotesEscape
                default: keep([byte])
                }
            case .doubleQuotesEscape:
                state = .doubleQuotes
                if "\"\\`$".utf8.contains(byte) {
                    keep([byte])
                } else if byte != 0x0A {
                    keep([UInt8(ascii: "\\"), byte])
                }
            case .comment:
                if byte == UInt8(ascii: "\\") { state = .commentEscape } else if isNewline { state = .beforeName }
            // Since systemd 254 a backslash at its end joins no line to a comment.
            case .commentEscape: state = isNewline ? .beforeName : .comment
            }
        }

        private mutating func takeValue(_ byte: UInt8, _ isNewline: Bool, _ isSpace: Bool) {
            switch byte {
            case _ where isNewline: push()
            case UInt8(ascii: "\\"): state = .valueEscape
            case UInt8(ascii: "'") where state == .beforeValue: state = .singleQuotes
            case UInt8(ascii: "\"") where state == .beforeValue: state = .doubleQuotes
            case _ where isSpace && state == .beforeValue: break
            default:
                state = .value
                value.append(byte)
                if !isSpace { kept = value.count }
            }
        }

        private mutating func keep(_ bytes: [UInt8]) {
            value += bytes
            kept = value.count
        }

        private mutating func push() {
            while let last = name.last, [0x20, 0x09].contains(last) { name.removeLast() }
            found.append((name, Array(value.prefix(kept))))
            state = .beforeName
        }

        mutating func end() {
            switch state {
            case .beforeValue, .value, .valueEscape, .singleQuotes, .doubleQuotes, .doubleQuotesEscape: push()
            case .beforeName, .name, .comment, .commentEscape: break
            }
        }
    }
}
