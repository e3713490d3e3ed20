/// `BatchSize=` counts the entries of one operation: where each event has one of its own, it is never reached.
extension Checker {
    mutating func checkBatches() {
        for source in sources {
            guard let reason = apartness(of: source) else { continue }
            for handler in source.routes.compactMap({ handlerIndices[$0.handler] }).map({ handlers[$0] }) {
                guard let entry = handler.entries.entry("BatchSize"), !entry.isUnreadable,
                    (entry.value?.number ?? 1) > 1
                else { continue }
                problems.warning(
                    "BatchSize= of \(handler.title) is never reached by \(source.title), where \(reason) keeps events apart",
                    at: source.entries.entry(reason.key)?.text ?? entry.keyText)
            }
        }
    }

    /// The key by which events of a source never merge.
    private func apartness(of source: SourceDraft) -> Apartness? {
        if case .timer(let timer)? = source.trigger, timer.catchUp == .all {
            return Apartness(key: "CatchUp", value: "all")
        }
        if !source.coalesces { return Apartness(key: "Coalesce", value: "no") }
        return source.hasNoKey ? Apartness(key: "Key", value: "none") : nil
    }

    private struct Apartness: CustomStringConvertible {
        var key: String
        var value: String
        var description: String { "\(key)=\(value)" }
    }
}
