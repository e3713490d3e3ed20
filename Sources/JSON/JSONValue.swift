/// Any JSON value. Numbers that are whole and fit 64 bits stay exact.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The members of an object; `nil` for everything else.
    package var members: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }

    package var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    package var int: Int64? {
        if case .int(let int) = self { int } else { nil }
    }
}

extension JSONValue: Codable {
    /// - Throws: `DecodingError` where the decoder is not that of `JSON`: others do not know what is a value of JSON.
    package init(from decoder: any Decoder) throws {
        guard let decoder = decoder as? JSONValueDecoder else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "not decoded by JSON"))
        }
        self = decoder.value
    }

    package func encode(to encoder: any Encoder) throws {
        // That of `JSON` writes it by itself and does not come here.
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let bool): try container.encode(bool)
        case .int(let int): try container.encode(int)
        // JSON has neither infinity nor NaN.
        case .double(let double): try double.isFinite ? container.encode(double) : container.encodeNil()
        case .string(let string): try container.encode(string)
        case .array(let array): try container.encode(array)
        case .object(let members): try container.encode(members)
        }
    }
}
