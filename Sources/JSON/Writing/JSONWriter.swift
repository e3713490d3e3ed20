/// Writes JSON as bytes, on one line. The members of an object are put into the order of their names' bytes.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []

    /// The room of a usual message.
    private static let room = 512

    package init() { bytes.reserveCapacity(Self.room) }

    // MARK: Plain values

    package mutating func writeNull() { bytes += "null".utf8 }

    package mutating func write(_ bool: Bool) { bytes += (bool ? "true" : "false").utf8 }

    package mutating func write(_ number: some BinaryInteger) { bytes += String(number).utf8 }

    /// The shortest text that is read as that number again. JSON has neither infinity nor NaN: they become `null`.
    package mutating func write(_ number: some BinaryFloatingPoint & LosslessStringConvertible) {
        guard number.isFinite else { return writeNull() }
        let digits = number.description
        bytes += (digits.hasSuffix(".0") ? digits.dropLast(2) : digits[...]).utf8
    }

    package mutating func write(_ string: String) {
        var string = string
        string.withUTF8 { write(utf8: $0) }
    }

    /// JSON text that is there already.
    package mutating func write(text: [UInt8]) { bytes += text }

    private mutating func write(utf8 characters: UnsafeBufferPointer<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        var start = 0
        for (index, byte) in characters.enumerated() where Self.isEscaped(byte) {
            bytes += characters[start..<index]
            escape(byte)
            start = index + 1
        }
        bytes += characters[start...]
        bytes.append(UInt8(ascii: "\""))
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case 0x08: bytes += #"\b"#.utf8
        case 0x09: bytes += #"\t"#.utf8
        case 0x0A: bytes += #"\n"#.utf8
        case 0x0C: bytes += #"\f"#.utf8
        case 0x0D: bytes += #"\r"#.utf8
        case ..<0x20:
            bytes += (byte < 0x10 ? #"\u000"# : #"\u001"#).utf8
            bytes += String(byte & 0xF, radix: 16).utf8
        default: bytes += [UInt8(ascii: "\\"), byte]
        }
    }

    // MARK: Arrays and objects

    /// An array whose elements are being written; nothing else is, until it ends.
    package struct Array {
        fileprivate let start: Int

        init(start: Int) { self.start = start }
    }

    package func beginArray() -> Array { Array(start: bytes.count) }

    /// Begins an element. Each begins with a comma, the first one too.
    package mutating func beginElement() { bytes.append(UInt8(ascii: ",")) }

    package mutating func end(_ array: Array) { close(array.start, with: ("[", "]")) }

    package mutating func write<Element>(
        array elements: some Sequence<Element>, _ body: (inout JSONWriter, Element) -> Void
    ) {
        let array = beginArray()
        for element in elements {
            beginElement()
            body(&self, element)
        }
        end(array)
    }

    /// Puts whole elements between those that are written.
    mutating func insert(element: [UInt8], at place: Int) {
        bytes.insert(contentsOf: [UInt8(ascii: ",")] + element, at: place)
    }

    /// The comma of the first element becomes the bracket.
    private mutating func close(_ start: Int, with brackets: (Unicode.Scalar, Unicode.Scalar)) {
        if bytes.count == start { bytes.append(0) }
        bytes[start] = UInt8(ascii: brackets.0)
        bytes.append(UInt8(ascii: brackets.1))
    }

    /// An object whose members are being written; nothing else is, until it ends.
    package struct Object {
        fileprivate let start: Int
        /// Each begins with a comma, the first one too.
        fileprivate var members: [(name: String, start: Int)] = []
        fileprivate var isSorted = true
        fileprivate let keepsOrder: Bool

        init(start: Int, keepsOrder: Bool = false) { (self.start, self.keepsOrder) = (start, keepsOrder) }
    }

    /// - Parameter keepsOrder: its members come in a good order, each once.
    package func beginObject(keepsOrder: Bool = false) -> Object { Object(start: bytes.count, keepsOrder: keepsOrder) }

    /// The next value written is the member's. Of members with one name the last one counts.
    package mutating func beginMember(_ name: String, of object: inout Object) {
        if !object.keepsOrder {
            if let last = object.members.last { object.isSorted = object.isSorted && Self.isBefore(last.name, name) }
            object.members.append((name, bytes.count))
        }
        bytes.append(UInt8(ascii: ","))
        write(name)
        bytes.append(UInt8(ascii: ":"))
    }

    /// A member, if there is a value.
    package mutating func write(_ name: String, _ value: (some JSONWritable)?, to object: inout Object) {
        guard let value else { return }
        beginMember(name, of: &object)
        value.write(to: &self)
    }

    package mutating func end(_ object: Object) {
        if !object.isSorted { sort(object) }
        close(object.start, with: ("{", "}"))
    }

    private mutating func sort(_ object: Object) {
        let written = [UInt8](bytes[object.start...])
        bytes.removeSubrange(object.start...)
        let order = object.members.indices.sorted {
            let (one, other) = (object.members[$0].name, object.members[$1].name)
            return Self.isBefore(one, other) || $0 < $1 && !Self.isBefore(other, one)
        }
        for (place, index) in order.enumerated() {
            let name = object.members[index].name
            if place + 1 < order.count, object.members[order[place + 1]].name.utf8.elementsEqual(name.utf8) { continue }
            let end = index + 1 < object.members.count ? object.members[index + 1].start : object.start + written.count
            bytes += written[(object.members[index].start - object.start)..<(end - object.start)]
        }
    }

    private static func isBefore(_ one: String, _ other: String) -> Bool {
        one.utf8.lexicographicallyPrecedes(other.utf8)
    }
}
