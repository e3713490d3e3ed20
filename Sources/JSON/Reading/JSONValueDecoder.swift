/// Makes typed values of a `JSONValue`. Errors have the path to what is missing or of the wrong type.
struct JSONValueDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ value: JSONValue, at path: [any CodingKey] = []) {
        self.value = value
        codingPath = path
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard let members = value.members else { throw mismatch([String: JSONValue].self) }
        return KeyedDecodingContainer(Members(members: members, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch([JSONValue].self) }
        return Elements(elements: elements, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    private func mismatch(_ type: any Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "of another type")
        return value == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }
}

extension JSONValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value == .null }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard let plain = type as? any PlainValue.Type else { return try Value(from: self) }
        guard let value = plain.init(value) as? Value else { throw mismatch(type) }
        return value
    }
}

/// The members of an object.
private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [String: JSONValue]
    let codingPath: [any CodingKey]

    var allKeys: [Key] { members.keys.compactMap(Key.init) }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

    private func decoder(_ key: any CodingKey) throws -> JSONValueDecoder {
        guard let value = members[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key, DecodingError.Context(codingPath: codingPath, debugDescription: "missing"))
        }
        return JSONValueDecoder(value, at: codingPath + [key])
    }

    func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder(key).decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try decoder(AnyKey(stringValue: "super")) }

    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}

/// The elements of an array, one after another.
private struct Elements: UnkeyedDecodingContainer {
    let elements: [JSONValue]
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0

    init(elements: [JSONValue], codingPath: [any CodingKey]) {
        self.elements = elements
        self.codingPath = codingPath
    }

    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    private var decoder: JSONValueDecoder {
        get throws {
            let path = codingPath + [AnyKey(stringValue: "\(currentIndex)")]
            guard !isAtEnd else {
                throw DecodingError.valueNotFound(
                    JSONValue.self, DecodingError.Context(codingPath: path, debugDescription: "missing"))
            }
            return JSONValueDecoder(elements[currentIndex], at: path)
        }
    }

    /// A value that cannot be decoded is not passed.
    private mutating func pass<Value>(_ body: (JSONValueDecoder) throws -> Value) throws -> Value {
        let value = try body(decoder)
        currentIndex += 1
        return value
    }

    mutating func decodeNil() throws -> Bool {
        guard try decoder.decodeNil() else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try pass { try $0.decode(type) } }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try pass { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try pass { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try pass { $0 } }
}

/// The types that a JSON value which is no container can be taken for, and the value itself.
private protocol PlainValue {
    init?(_ value: JSONValue)
}

extension JSONValue: PlainValue {
    fileprivate init?(_ value: JSONValue) { self = value }
}

extension String: PlainValue {
    fileprivate init?(_ value: JSONValue) {
        guard let string = value.string else { return nil }
        self = string
    }
}

extension Bool: PlainValue {
    fileprivate init?(_ value: JSONValue) {
        guard case .bool(let bool) = value else { return nil }
        self = bool
    }
}

extension Double: PlainValue {
    fileprivate init?(_ value: JSONValue) {
        switch value {
        case .double(let double): self = double
        case .int(let int): self = Double(int)
        default: return nil
        }
    }
}

extension Float: PlainValue {
    fileprivate init?(_ value: JSONValue) {
        guard let double = Double(value) else { return nil }
        self.init(double)
    }
}

extension PlainValue where Self: BinaryInteger {
    fileprivate init?(_ value: JSONValue) {
        guard let int = value.int else { return nil }
        self.init(exactly: int)
    }
}

extension Int: PlainValue {}
extension Int128: PlainValue {}
extension Int64: PlainValue {}
extension Int32: PlainValue {}
extension Int16: PlainValue {}
extension Int8: PlainValue {}
extension UInt: PlainValue {}
extension UInt128: PlainValue {}
extension UInt64: PlainValue {}
extension UInt32: PlainValue {}
extension UInt16: PlainValue {}
extension UInt8: PlainValue {}
