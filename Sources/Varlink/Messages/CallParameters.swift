import JSON

/// The parameters of a method, decoded strictly: a name that is not in `CodingKeys` is refused.
///
/// A conforming type writes its `CodingKeys` out and makes them `CaseIterable`; the rest is synthesised.
package protocol CallParameters: Codable, Sendable {
    associatedtype CodingKeys: CodingKey & CaseIterable
}

/// The parameters of a method that has none, and the reply of one that says nothing.
package struct NoParameters: CallParameters, Equatable {
    package enum CodingKeys: CodingKey, CaseIterable {}

    package init() {}
}

extension Decoder {
    /// Refuses an object with members that `keys` does not list.
    /// - Throws: `DecodingError.dataCorrupted`, whose path ends in the first such member (in the order of the
    ///   alphabet).
    package func refuseUnknownMembers<Keys: CodingKey & CaseIterable>(besides keys: Keys.Type) throws {
        let unknown = try container(keyedBy: AnyKey.self).allKeys.filter { Keys(stringValue: $0.stringValue) == nil }
        if let unknown = unknown.min(by: { $0.stringValue < $1.stringValue }) {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: codingPath + [unknown], debugDescription: "unknown member"))
        }
    }
}

extension DecodingError {
    /// Names of members and elements from the outermost to the one at fault.
    var path: [any CodingKey] {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            context.codingPath
        case .keyNotFound(let key, let context): context.codingPath + [key]
        @unknown default: []
        }
    }
}
