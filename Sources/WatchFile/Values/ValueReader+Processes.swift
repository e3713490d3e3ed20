extension ValueReader {
    /// `exit` and its like; what somebody may hope for and no kernel tells is refused with the reason.
    func processEvent(_ word: SourceText, _ problems: inout Problems) -> String? {
        guard !["signal", "signals", "kill"].contains(word.string) else {
            refuse(
                &problems,
                "is refused: Linux tells nobody of a signal that another process gets; "
                    + "Events=exit tells which signal ended it",
                at: word)
            return nil
        }
        return choose(word, of: ProcessEvent.allCases.map(\.rawValue), later: [], &problems)
    }
}
