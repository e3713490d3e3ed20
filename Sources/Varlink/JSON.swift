import FoundationEssentials

/// JSON text as bytes, on one line, with sorted keys and plain slashes.
package enum JSON {
    /// - Throws: `EncodingError`, for a number that JSON does not have.
    package static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    /// - Throws: `DecodingError`. Text nested deeper than 512 is refused, not followed.
    package static func decode<Value: Decodable>(_ type: Value.Type = Value.self, from text: [UInt8]) throws -> Value {
        try JSONDecoder().decode(type, from: Data(text))
    }
}
