import Schedule

extension RateLimit {
    /// Bounds of `COUNT`: each start or event of the last span is remembered.
    static let counts = 1...100_000
    /// Bounds of `SPAN`.
    static let spans = TimeSpan.milliseconds(1)...TimeSpan.seconds(24 * 60 * 60)
}

extension ValueReader {
    /// `NAME` or `NAME:COUNT`, several.
    func counts(in range: ClosedRange<Int>, _ problems: inout Problems) -> [Value.Count]? {
        all(text.words) { count($0, in: range, &problems) }
    }

    private func count(_ word: SourceText, in range: ClosedRange<Int>, _ problems: inout Problems) -> Value.Count? {
        guard let colon = word.bytes.firstIndex(of: UInt8(ascii: ":")) else {
            return name(word, &problems).map { Value.Count(name: $0, count: 1, text: word) }
        }
        guard colon > word.bytes.startIndex else {
            refuse(&problems, "names nothing before the colon", at: word)
            return nil
        }
        guard let name = name(word[word.bytes.startIndex..<colon], &problems),
            let count = number(word[colon + 1..<word.bytes.endIndex], "count", of: word, in: range, &problems)
        else { return nil }
        return Value.Count(name: name, count: count, text: word)
    }

    /// `COUNT/SPAN`.
    func rate(_ problems: inout Problems) -> RateLimit? {
        guard let slash = text.bytes.firstIndex(of: UInt8(ascii: "/")) else {
            refuse(&problems, "is not COUNT/SPAN, such as 10/1s")
            return nil
        }
        let left = text[text.bytes.startIndex..<slash].trimmed
        let right = text[slash + 1..<text.bytes.endIndex].trimmed
        let count = number(left, "count", of: text, in: RateLimit.counts, &problems)
        guard !right.isEmpty else {
            refuse(&problems, "has no span behind the /")
            return nil
        }
        guard let span = ValueReader(key: key, text: right, zones: zones).span(.any, &problems) else { return nil }
        guard RateLimit.spans.contains(span) else {
            let (shortest, longest) = (RateLimit.spans.lowerBound, RateLimit.spans.upperBound)
            problems.error("the span of \(key.name)=\(text.shown) is not in \(shortest) to \(longest)", at: right)
            return nil
        }
        return count.map { RateLimit(count: $0, span: span) }
    }

    /// A number that is a part of `whole`.
    private func number(
        _ digits: SourceText, _ what: String, of whole: SourceText, in range: ClosedRange<Int>,
        _ problems: inout Problems
    ) -> Int? {
        let place = digits.isEmpty ? whole : digits
        guard !digits.isEmpty, digits.bytes.allSatisfy(\.isDigit) else {
            problems.error("the \(what) of \(key.name)=\(whole.shown) is not a whole number", at: place)
            return nil
        }
        if let number = Int(digits.string), range.contains(number) { return number }
        problems.error(
            "the \(what) of \(key.name)=\(whole.shown) is not in \(range.lowerBound) to \(range.upperBound)",
            at: place)
        return nil
    }
}
