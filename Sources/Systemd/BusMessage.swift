import CSystemd

/// A message that came over a bus; it is read from its beginning to its end, once.
package struct BusMessage {
    /// It does not hold what was to be read.
    struct Unexpected: Error {}

    private let message: OpaquePointer

    init(_ message: OpaquePointer) { self.message = message }

    /// The unique name of who has sent it, which the bus vouches for.
    package var sender: String? { sd_bus_message_get_sender(message).map { String(cString: $0) } }
    package var path: String { sd_bus_message_get_path(message).map { String(cString: $0) } ?? "" }
    package var interface: String { sd_bus_message_get_interface(message).map { String(cString: $0) } ?? "" }
    package var member: String { sd_bus_message_get_member(message).map { String(cString: $0) } ?? "" }

    func string() throws(Unexpected) -> String { try text(BusType.string) }
    func objectPath() throws(Unexpected) -> String { try text(BusType.objectPath) }

    private func text(_ type: CChar) throws(Unexpected) -> String {
        // It stays the message's.
        var text: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(message, type, &text) > 0, let text else { throw Unexpected() }
        return String(cString: text)
    }

    func boolean() throws(Unexpected) -> Bool {
        var value: Int32 = 0
        guard sd_bus_message_read_basic(message, BusType.boolean, &value) > 0 else { throw Unexpected() }
        return value != 0
    }

    /// An array of bytes.
    func bytes() throws(Unexpected) -> [UInt8] {
        // They stay the message's.
        var start: UnsafeRawPointer?
        var count = 0
        guard sd_bus_message_read_array(message, CChar(UInt8(ascii: "y")), &start, &count) >= 0 else {
            throw Unexpected()
        }
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    func unsigned() throws(Unexpected) -> UInt64 {
        var value: UInt64 = 0
        guard sd_bus_message_read_basic(message, BusType.unsigned, &value) > 0 else { throw Unexpected() }
        return value
    }

    /// A number of another type; `type` is its letter.
    func number<Number: BitwiseCopyable>(_ zero: Number, _ type: Unicode.Scalar) throws(Unexpected) -> Number {
        var value = zero
        guard sd_bus_message_read_basic(message, CChar(UInt8(ascii: type)), &value) > 0 else { throw Unexpected() }
        return value
    }

    func skip(_ types: String) throws(Unexpected) {
        guard sd_bus_message_skip(message, types) >= 0 else { throw Unexpected() }
    }

    /// Reads what is in a variant, structure or dictionary entry.
    func inside<Value>(
        _ type: CChar, _ contents: String, _ read: () throws(Unexpected) -> Value
    ) throws(Unexpected) -> Value {
        guard sd_bus_message_enter_container(message, type, contents) > 0 else { throw Unexpected() }
        let value = try read()
        guard sd_bus_message_exit_container(message) >= 0 else { throw Unexpected() }
        return value
    }

    /// Reads each element of an array of structures or dictionary entries.
    func forEach(_ type: CChar, _ contents: String, _ read: () throws(Unexpected) -> Void) throws(Unexpected) {
        let brackets = type == BusType.structure ? ("(", ")") : ("{", "}")
        try inside(BusType.array, brackets.0 + contents + brackets.1) { () throws(Unexpected) in
            while true {
                let result = sd_bus_message_enter_container(message, type, contents)
                guard result > 0 else {
                    if result < 0 { throw Unexpected() }
                    return
                }
                try read()
                guard sd_bus_message_exit_container(message) >= 0 else { throw Unexpected() }
            }
        }
    }
}

/// Types of `sd-bus-protocol.h`.
enum BusType {
    static let string = CChar(UInt8(ascii: "s"))
    static let objectPath = CChar(UInt8(ascii: "o"))
    static let boolean = CChar(UInt8(ascii: "b"))
    static let unsigned = CChar(UInt8(ascii: "t"))
    static let array = CChar(UInt8(ascii: "a"))
    static let variant = CChar(UInt8(ascii: "v"))
    static let structure = CChar(UInt8(ascii: "r"))
    static let entry = CChar(UInt8(ascii: "e"))
}
