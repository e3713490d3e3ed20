/// What a JSON text says that `JSONValue` cannot keep as it stands: a member named twice, a number that has no exact
/// place in 64 bits or is beyond a double, half of a surrogate pair.
package struct JSONFault: Equatable, Sendable {
    /// Names of members from the outermost to the one at fault; elements of arrays have none.
    package var path: [String]
    /// A sentence without its end, which names what is at fault.
    package var reason: String

    package init(path: [String], reason: String) {
        self.path = path
        self.reason = reason
    }

    /// The first one; `nil`: there is none. Of a text that is not JSON something is found, or nothing.
    package static func first(in text: [UInt8]) -> JSONFault? {
        var scan = Scan(text: text)
        while scan.fault == nil, scan.index < text.count { scan.step() }
        return scan.fault
    }

    /// Goes over a text once, without recursion.
    private struct Scan {
        let text: [UInt8]
        private(set) var index = 0
        private(set) var fault: JSONFault?
        private var levels: [Level] = []

        init(text: [UInt8]) { self.text = text }

        /// An array or object that is open.
        private struct Level {
            var isObject: Bool
            var names: Set<String> = []
            /// That of the value that comes or has come.
            var name: String?
        }

        mutating func step() {
            switch text[index] {
            case UInt8(ascii: "{"): levels.append(Level(isObject: true))
            case UInt8(ascii: "["): levels.append(Level(isObject: false))
            case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = levels.popLast()
            case UInt8(ascii: ","): if !levels.isEmpty { levels[levels.count - 1].name = nil }
            case UInt8(ascii: "\""): return string()
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number()
            default: break
            }
            index += 1
        }

        private mutating func find(_ reason: String) {
            fault = fault ?? JSONFault(path: levels.compactMap(\.name), reason: reason)
        }

        /// `“a”.“b”` for people.
        private var place: String {
            let names = levels.compactMap(\.name)
            return names.isEmpty ? "a value" : "“\(names.joined(separator: "."))”"
        }

        private mutating func string() {
            let start = index
            index += 1
            var half: String?
            while index < text.count, text[index] != UInt8(ascii: "\"") {
                if text[index] == UInt8(ascii: "\\") { half = half ?? escape() } else { index += 1 }
            }
            index = min(text.count, index + 1)
            if let last = levels.last, last.isObject, last.name == nil { name(Array(text[start..<index])) }
            if let half { find("\(place) has \(half), which is half of a character") }
        }

        /// - Returns: the half of a surrogate pair that has no other half.
        private mutating func escape() -> String? {
            let start = index
            guard let first = unit() else {
                index += 2
                return nil
            }
            index += 6
            guard (0xD800...0xDFFF).contains(first) else { return nil }
            if first < 0xDC00, let second = unit(), (0xDC00...0xDFFF).contains(second) {
                index += 6
                return nil
            }
            return String(decoding: text[start..<start + 6], as: UTF8.self)
        }

        /// Of `\u1234` that stands here.
        private func unit() -> UInt16? {
            guard index + 6 <= text.count, text[index] == UInt8(ascii: "\\"), text[index + 1] == UInt8(ascii: "u")
            else { return nil }
            return UInt16(String(decoding: text[index + 2..<index + 6], as: UTF8.self), radix: 16)
        }

        private mutating func name(_ quoted: [UInt8]) {
            let plain = quoted.contains(UInt8(ascii: "\\")) ? try? JSON.decode(String.self, from: quoted) : nil
            let name = plain ?? String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
            levels[levels.count - 1].name = name
            if !levels[levels.count - 1].names.insert(name).inserted { find("it has \(place) twice") }
        }

        private mutating func number() {
            let start = index
            while index < text.count, text[index].isDigit || "+-.eE".utf8.contains(text[index]) { index += 1 }
            let digits = text[start..<index]
            let number = String(decoding: digits, as: UTF8.self)
            if digits.allSatisfy({ $0.isDigit || $0 == UInt8(ascii: "-") }) {
                guard Int64(number) == nil else { return }
                find(
                    "\(place) is \(shown(number)), and whole numbers have 64 bits with their sign: write it as a string"
                )
            } else if let double = Double(number) {
                let isZero = !number.prefix { !"eE".contains($0) }.contains { ("1"..."9").contains($0) }
                guard !double.isFinite || double == 0 && !isZero else { return }
                find("\(place) is \(shown(number)), which no number of 64 bits comes near: write it as a string")
            }
        }

        private func shown(_ number: String) -> String { number.count > 60 ? number.prefix(60) + "…" : number }
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
}
