import Schedule

/// `HoldUntil=`: states of the machine.
extension ValueReader {
    private static let holdForms = [
        "ac-power", "network-online", "pressure:cpu:some:20%", "idle:10min", "path:/…", "unit:NAME",
    ]

    func holdCondition(_ word: SourceText, _ problems: inout Problems) -> HoldCondition? {
        let parts = word.string.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        switch parts[0] {
        case "ac-power" where parts.count == 1: return .mainsPower
        case "network-online" where parts.count == 1: return .networkOnline
        case "pressure" where parts.count == 2: return pressureCondition(parts[1], word, &problems)
        case "path" where parts.count == 2: return pathCondition(word, &problems)
        case "unit" where parts.count == 2: return unitCondition(word, &problems)
        case "idle" where parts.count == 2: return idleCondition(parts[1], word, &problems)
        default:
            refuse(
                &problems, "is not one of \(Self.holdForms.joined(separator: ", "))", at: word,
                suggestion: problems.nearest(to: word.string, among: ["ac-power", "network-online"]))
            return nil
        }
    }

    private func idleCondition(_ text: Substring, _ word: SourceText, _ problems: inout Problems) -> HoldCondition? {
        guard let span = try? TimeSpan(parsing: text), (TimeSpan.seconds(1)...Self.longestIdleness).contains(span)
        else {
            refuse(&problems, "is not idle:SPAN, from 1s to 1y, without spaces", at: word)
            return nil
        }
        return .idle(span)
    }

    private static let longestIdleness = TimeSpan.seconds(31_557_600)

    private func unitCondition(_ word: SourceText, _ problems: inout Problems) -> HoldCondition? {
        let name = Self.rest(of: word, behind: "unit:")
        guard !name.isEmpty else {
            refuse(&problems, "needs the name of a unit", at: word)
            return nil
        }
        return singleUnit(name, &problems).map { .unit($0) }
    }

    private static func rest(of word: SourceText, behind head: String) -> SourceText {
        word[word.bytes.startIndex + head.utf8.count..<word.bytes.endIndex]
    }

    private func pathCondition(_ word: SourceText, _ problems: inout Problems) -> HoldCondition? {
        let path = Self.rest(of: word, behind: "path:")
        guard !path.isEmpty else {
            refuse(&problems, "needs a path", at: word)
            return nil
        }
        return PathValue.read(path, key: key, &problems).map { .path($0) }
    }

    /// `RESOURCE:SHARE:PERCENT%`.
    private func pressureCondition(
        _ text: Substring, _ word: SourceText, _ problems: inout Problems
    ) -> HoldCondition? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let resource = PressureLimit.Resource(rawValue: String(parts[0])),
            let share = PressureLimit.Share(rawValue: String(parts[1])), parts[2].hasSuffix("%"),
            let percent = Int(parts[2].dropLast()), (1...100).contains(percent)
        else {
            refuse(
                &problems,
                "is not pressure:RESOURCE:SHARE:PERCENT% with memory, cpu or io, some or full, and 1% to 100%", at: word
            )
            return nil
        }
        return .pressure(resource, share, percent: percent)
    }
}
