extension ValueReader {
    /// `/path`, or `!/path`.
    func pathCondition(_ problems: inout Problems) -> PathCondition? {
        let isNegated = text.bytes.first == UInt8(ascii: "!")
        if text.bytes.first == UInt8(ascii: "|") {
            problems.error("the prefix | of \(key.name)= is not supported by this version", at: text)
            return nil
        }
        let path = isNegated ? text[text.bytes.startIndex + 1..<text.bytes.endIndex].trimmed : text
        guard !path.isEmpty else {
            problems.error("\(key.name)=! needs a path", at: text)
            return nil
        }
        return PathValue.read(path, key: key, &problems).map { PathCondition(path: $0, isNegated: isNegated) }
    }
}
