import CSystemd

/// A value to be sent over a bus; behind each case its letter in a signature (`sd-bus-protocol.h`).
package indirect enum BusValue: Equatable, Sendable {
    /// `s`
    case string(String)
    /// `b`
    case boolean(Bool)
    /// `i`
    case int32(Int32)
    /// `q`
    case uint16(UInt16)
    /// `u`
    case uint32(UInt32)
    /// `t`
    case uint64(UInt64)
    /// `h`: the message takes a duplicate of the descriptor.
    case descriptor(Int32)
    /// `ay`
    case bytes([UInt8])
    /// `as`
    case strings([String])
    /// `(…)`
    case structure([BusValue])
    /// `a…`, with the signature of an element.
    case array(String, [BusValue])
    /// `v`
    case variant(BusValue)

    package var signature: String {
        switch self {
        case .string: "s"
        case .boolean: "b"
        case .int32: "i"
        case .uint16: "q"
        case .uint32: "u"
        case .uint64: "t"
        case .descriptor: "h"
        case .bytes: "ay"
        case .strings: "as"
        case .structure(let values): "(\(Self.signature(values)))"
        case .array(let element, _): "a\(element)"
        case .variant: "v"
        }
    }

    private static func signature(_ values: [BusValue]) -> String { values.map(\.signature).joined() }

    // MARK: Encoding

    /// Appends the value to a message that is being made. A negative number of `errno` is a failure, after which the
    /// message is of no use.
    func append(to message: OpaquePointer) -> Int32 {
        switch self {
        case .string(let text): return sd_bus_message_append_basic(message, BusType.string, text)
        case .boolean(let flag): return Self.append(Int32(flag ? 1 : 0), "b", to: message)
        case .int32(let number): return Self.append(number, "i", to: message)
        case .uint16(let number): return Self.append(number, "q", to: message)
        case .uint32(let number): return Self.append(number, "u", to: message)
        case .uint64(let number): return Self.append(number, "t", to: message)
        case .descriptor(let number): return Self.append(number, "h", to: message)
        case .bytes(let bytes):
            return bytes.withUnsafeBytes {
                sd_bus_message_append_array(message, CChar(UInt8(ascii: "y")), $0.baseAddress, $0.count)
            }
        case .strings(let texts):
            return Self.append(texts.map { .string($0) }, in: BusType.array, of: "s", to: message)
        case .structure(let values):
            return Self.append(values, in: BusType.structure, of: Self.signature(values), to: message)
        case .array(let element, let values):
            return Self.append(values, in: BusType.array, of: element, to: message)
        case .variant(let value):
            return Self.append([value], in: BusType.variant, of: value.signature, to: message)
        }
    }

    private static func append<Number: BitwiseCopyable>(
        _ number: Number, _ type: Unicode.Scalar, to message: OpaquePointer
    ) -> Int32 {
        withUnsafePointer(to: number) { sd_bus_message_append_basic(message, CChar(UInt8(ascii: type)), $0) }
    }

    private static func append(
        _ values: [BusValue], in container: CChar, of contents: String, to message: OpaquePointer
    ) -> Int32 {
        var result = sd_bus_message_open_container(message, container, contents)
        for value in values where result >= 0 { result = value.append(to: message) }
        return result < 0 ? result : sd_bus_message_close_container(message)
    }
}
