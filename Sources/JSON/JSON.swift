/// JSON text as bytes, on one line, with sorted keys and plain slashes.
package enum JSON {
    /// - Throws: `EncodingError`, for a number that JSON does not have.
    package static func encode(_ value: some Encodable) throws -> [UInt8] {
        let text = JSONEncoding()
        try text.encode(value, under: nil, at: nil)
        return text.writer.bytes
    }

    /// - Throws: `JSONSyntaxError`, `JSONFault`, or `DecodingError` for what is no such value.
    package static func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from text: [UInt8], limits: JSONText.Limits = .trusted
    ) throws -> Value {
        let text = try JSONText(text, limits: limits)
        if let fault = text.fault { throw fault }
        return try decode(type, from: text.value)
    }

    /// - Throws: `DecodingError`, whose path leads to what is missing or of the wrong type.
    package static func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from value: JSONValue
    ) throws -> Value {
        try JSONValueDecoder(value).decode(type)
    }
}
