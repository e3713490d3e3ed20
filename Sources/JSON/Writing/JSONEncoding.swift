/// The text that is made of one value, and the bytes of it that are there.
final class JSONEncoding {
    fileprivate(set) var writer = JSONWriter()

    /// - Parameter key: of the value, in the value of `parent`; both `nil`: it is the whole text.
    func encode(_ value: some Encodable, under parent: JSONValueEncoder?, at key: (any CodingKey)?) throws {
        if let plain = value as? any JSONWritable {
            guard plain.isInJSON else {
                let path = (parent?.codingPath ?? []) + (key.map { [$0] } ?? [])
                throw EncodingError.invalidValue(
                    value, EncodingError.Context(codingPath: path, debugDescription: "JSON has no such number"))
            }
            return plain.write(to: &writer)
        }
        let encoder = JSONValueEncoder(self, under: parent, at: key)
        try value.encode(to: encoder)
        guard encoder.finish() else {
            throw EncodingError.invalidValue(
                value, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "it encodes nothing"))
        }
    }
}

/// Writes one value at the end of a text, with what is in it.
final class JSONValueEncoder: Encoder {
    private let text: JSONEncoding
    private let parent: JSONValueEncoder?
    private let key: (any CodingKey)?
    private var content = Content.nothing
    /// The open object or array, where `content` says so.
    private var object = JSONWriter.Object(start: 0)
    private var array = JSONWriter.Array(start: 0)
    private var elementCount = 0
    /// Values with containers of their own, which may still be filled. In an array they come before the byte at their
    /// place.
    private var others: [(name: String, place: Int, value: JSONValueEncoder)] = []

    private enum Content {
        case nothing, plain, object, array
    }

    init(_ text: JSONEncoding, under parent: JSONValueEncoder?, at key: (any CodingKey)?) {
        (self.text, self.parent, self.key) = (text, parent, key)
    }

    var codingPath: [any CodingKey] { (parent?.codingPath ?? []) + (key.map { [$0] } ?? []) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }
}

extension JSONValueEncoder {
    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .nothing = content { (content, object) = (.object, text.writer.beginObject()) }
        return KeyedEncodingContainer(Members(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .nothing = content { (content, array) = (.array, text.writer.beginArray()) }
        return Elements(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    /// Writes what comes last.
    /// - Returns: false if there is no value.
    fileprivate func finish() -> Bool {
        switch content {
        case .nothing: return false
        case .plain: break
        case .object:
            for (name, _, value) in others {
                text.writer.beginMember(name, of: &object)
                text.writer.write(text: value.finished)
            }
            text.writer.end(object)
        case .array:
            for (_, place, value) in others.reversed() { text.writer.insert(element: value.finished, at: place) }
            text.writer.end(array)
        }
        content = .plain
        return true
    }

    /// Of one with a text of its own.
    private var finished: [UInt8] {
        if !finish() { text.writer.writeNull() }
        return text.writer.bytes
    }

    // MARK: Members and elements

    fileprivate var count: Int { elementCount }

    fileprivate func encode(_ value: some Encodable, as key: some CodingKey) throws {
        text.writer.beginMember(key.stringValue, of: &object)
        try text.encode(value, under: self, at: key)
    }

    fileprivate func encode(element value: some Encodable) throws {
        let key = nextElement()
        text.writer.beginElement()
        try text.encode(value, under: self, at: key)
    }

    fileprivate func other(as key: some CodingKey) -> JSONValueEncoder {
        let other = JSONValueEncoder(JSONEncoding(), under: self, at: key)
        others.append((key.stringValue, text.writer.bytes.count, other))
        return other
    }

    fileprivate func otherElement() -> JSONValueEncoder { other(as: nextElement()) }

    private func nextElement() -> ElementKey {
        elementCount += 1
        return ElementKey(index: elementCount - 1)
    }
}

/// The place of an element as a part of a path.
private struct ElementKey: CodingKey {
    let index: Int
    var stringValue: String { "\(index)" }
    var intValue: Int? { index }

    init(index: Int) { self.index = index }
    init?(stringValue: String) { nil }
    init?(intValue: Int) { index = intValue }
}

extension JSONValueEncoder: SingleValueEncodingContainer {
    func encodeNil() {
        text.writer.writeNull()
        content = .plain
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        guard value is any JSONWritable else { return try value.encode(to: self) }
        try text.encode(value, under: parent, at: key)
        content = .plain
    }
}

/// The members of an object.
private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: JSONValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) throws { try encoder.encode(JSONValue.null, as: key) }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try encoder.encode(value, as: key) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoder.other(as: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.other(as: key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder.other(as: AnyKey(stringValue: "super")) }

    func superEncoder(forKey key: Key) -> any Encoder { encoder.other(as: key) }
}

/// The elements of an array, one after another.
private struct Elements: UnkeyedEncodingContainer {
    let encoder: JSONValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.count }

    func encodeNil() throws { try encoder.encode(element: JSONValue.null) }

    func encode<Value: Encodable>(_ value: Value) throws { try encoder.encode(element: value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        encoder.otherElement().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.otherElement().unkeyedContainer() }

    func superEncoder() -> any Encoder { encoder.otherElement() }
}
