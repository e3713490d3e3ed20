extension ValueReader {
    /// `Unit.KEY=`.
    func unitProperty(_ form: UnitForm, _ problems: inout Problems) -> UnitProperty? {
        guard let words = Word.split(text, &problems) else { return nil }
        let texts = words.compactMap { String(validating: $0.bytes, as: UTF8.self) }
        let name = String(key.name.dropFirst(UnitKeyTable.prefix.count))
        guard texts.count == words.count, let property = form.read(name, text.string, texts) else {
            refuse(&problems, "is not \(form.expectation)")
            return nil
        }
        return property
    }
}
