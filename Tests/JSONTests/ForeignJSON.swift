import FoundationEssentials
import JSON

/// A JSON value as Foundation reads it. Foundation is laxer: what it does not look at may be no JSON.
struct ForeignJSON: Decodable {
    let value: JSONValue

    /// Whether Foundation takes the bytes for JSON, and for that value.
    static func agrees(_ bytes: [UInt8], _ value: JSONValue) -> Bool {
        (try? JSONDecoder().decode(ForeignJSON.self, from: Data(bytes))).map { isSame($0.value, value) } ?? false
    }

    /// Large numbers with an exponent or a fraction are whole ones for Foundation, which cuts the fraction off, and
    /// doubles here.
    private static func isSame(_ foreign: JSONValue, _ own: JSONValue) -> Bool {
        switch (foreign, own) {
        case (.int(let int), .double(let double)):
            (Double(int) - double).magnitude <= double.ulp && double.magnitude > 0x1p53
        case (.array(let foreign), .array(let own)):
            foreign.count == own.count && zip(foreign, own).allSatisfy { isSame($0, $1) }
        case (.object(let foreign), .object(let own)):
            foreign.count == own.count
                && foreign.allSatisfy { name, value in own[name].map { isSame(value, $0) } ?? false }
        default: foreign == own
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            value = .null
        } else if let bool = try? container.decode(Bool.self) {
            value = .bool(bool)
        } else if let int = try? container.decode(Int64.self) {
            value = .int(int)
        } else if let double = try? container.decode(Double.self) {
            value = .double(double)
        } else if let string = try? container.decode(String.self) {
            value = .string(string)
        } else if let elements = try? container.decode([ForeignJSON].self) {
            value = .array(elements.map(\.value))
        } else {
            value = .object(try container.decode([String: ForeignJSON].self).mapValues(\.value))
        }
    }
}
