/// `RootHash=`, `MountImages=` and their like, and the folders of a unit.
extension UnitForm {
    func verity(_ name: String, _ text: String) -> UnitProperty? {
        if text.hasPrefix("/") { return UnitProperty(name + "Path", .text(text)) }
        let prefix = "base64:"
        if case .rootSignature = self {
            guard text.hasPrefix(prefix), let bytes = Self.base64(String(text.dropFirst(prefix.count))) else {
                return nil
            }
            return UnitProperty(name, .bytes(bytes))
        }
        return Self.hexadecimal(text).map { UnitProperty(name, .bytes($0)) }
    }

    private static func hexadecimal(_ text: String) -> [UInt8]? {
        let digits = text.utf8.map { UInt8(String(UnicodeScalar($0)), radix: 16) }
        guard !digits.isEmpty, digits.count % 2 == 0, !digits.contains(nil) else { return nil }
        let numbers = digits.compactMap { $0 }
        return stride(from: 0, to: numbers.count, by: 2).map { numbers[$0] << 4 | numbers[$0 + 1] }
    }

    /// Links stand in a property of their own.
    static func folders(_ name: String, _ words: [String]) -> UnitProperty? {
        guard !words.contains(where: { $0.hasPrefix("/") }) else { return nil }
        guard words.contains(where: { $0.contains(":") }) else { return UnitProperty(name, .texts(words)) }
        let links = each(words, "(sst)") { word in
            let parts = word.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts.contains("") else { return nil }
            return .structure([.text(parts[0]), .text(parts[1]), .large(0)])
        }
        return links.map { UnitProperty(name + "Symlink", $0) }
    }

    /// Without a partition, the root is meant.
    static func options(_ word: String) -> UnitProperty.Value? {
        guard !word.isEmpty else { return nil }
        return word.contains(":") ? pair(word, ":") : .structure([.text("root"), .text(word)])
    }

    static func image(_ word: String, hasTarget: Bool) -> UnitProperty.Value? {
        let isOptional = word.hasPrefix("-")
        var parts = word.dropFirst(isOptional ? 1 : 0).split(separator: ":", omittingEmptySubsequences: false)
            .map(String.init)[...]
        let paths = parts.prefix(hasTarget ? 2 : 1)
        parts = parts.dropFirst(paths.count)
        guard paths.count == (hasTarget ? 2 : 1), paths.allSatisfy({ $0.hasPrefix("/") }), !parts.contains("") else {
            return nil
        }
        var options: [UnitProperty.Value] = []
        while let first = parts.popFirst() {
            if let second = parts.popFirst() {
                options.append(.structure([.text(first), .text(second)]))
            } else if options.isEmpty {
                options.append(.structure([.text("root"), .text(first)]))
            } else {
                return nil
            }
        }
        return .structure(paths.map { .text($0) } + [.flag(isOptional), .array("(ss)", options)])
    }
}
