import Schedule

/// `Stream=`: its workers run before there is an event, and what they get is a line.
extension Checker {
    private static let workerKeys = ["Workers", "Ack", "Prefetch", "IdleSec", "RestartSec", "RestartMaxDelaySec"]

    /// Keys about the one process of a run, each with the reason why a worker has no use for it.
    private static let foreignKeys = [
        ("Stride", "a line is one operation"),
        ("BatchSize", "a line is one operation"),
        ("ExecCondition", "a line has no process of its own"),
        ("ConditionPathExists", "a line has no process of its own"),
        ("StandardInput", "a worker reads a line of JSON for each operation"),
        ("RetryPreventExitStatus", "an operation has no exit status: with Ack=yes the worker answers retry or fail"),
        ("SuccessExitStatus", "an operation has no exit status: with Ack=yes the worker answers ok, retry or fail"),
    ]

    private static let foreignWords = [
        ("Overlap", "restart", "only a cancel takes a line back from a worker"),
        ("KillMode", "none", "a worker has to end with its pipe"),
        ("OnStop", "leave", "a worker ends with watchd, whose pipe it reads"),
    ]

    /// Mistakes within a single handler.
    mutating func readStream(of draft: inout HandlerDraft) {
        guard let stream = draft.entries.entry("Stream") else { return refuseWorkerKeys(of: draft) }
        refuseForeignKeys(of: draft)
        guard let text = stream.value?.command else { return }
        draft.commands = [text]
        if let specifier = text.items.lazy.compactMap(\.firstSpecifier).first {
            problems.error(
                "\(specifier.shown) means nothing in Stream=: no event starts a worker, each event is a line that it reads",
                at: specifier)
            return
        }
        var action = StreamAction(
            command: text.command, workers: draft.entries["Workers"]?.number ?? 1,
            prefetch: draft.entries["Prefetch"]?.number ?? 1, isAcknowledged: draft.entries["Ack"]?.flag ?? false,
            idle: draft.entries["IdleSec"]?.span ?? .infinity,
            restartDelay: draft.entries["RestartSec"]?.span ?? .milliseconds(100))
        if let longest = draft.entries["RestartMaxDelaySec"]?.span { action.restartMaxDelay = longest }
        if action.restartMaxDelay < action.restartDelay, let entry = draft.entries.entry("RestartMaxDelaySec") {
            problems.error(
                "RestartMaxDelaySec=\(action.restartMaxDelay.brief) is shorter than RestartSec=\(action.restartDelay.brief)"
                    + (draft.entries.has("RestartSec") ? "" : ", its default"), at: entry.text)
        }
        draft.action = .stream(action)
    }

    private mutating func refuseWorkerKeys(of draft: HandlerDraft) {
        for name in Self.workerKeys {
            guard let entry = draft.entries.entry(name), !entry.isUnreadable, !entry.isDefault else { continue }
            let advice = name == "RestartSec" ? "; a run that failed is tried again by Retry= after RetrySec=" : ""
            problems.error(
                "\(name)= is for the workers of Stream=, and \(draft.title) has none\(advice)", at: entry.keyText)
        }
    }

    private mutating func refuseForeignKeys(of draft: HandlerDraft) {
        for (name, reason) in Self.foreignKeys {
            guard let entry = draft.entries.entry(name), !entry.isUnreadable, !entry.isDefault,
                entry.value?.word != StandardInput.event.rawValue
            else { continue }
            problems.error("\(name)= means nothing beside Stream=: \(reason)", at: entry.keyText)
        }
        for (name, word, reason) in Self.foreignWords {
            guard let entry = draft.entries.entry(name), !entry.isDefault, entry.value?.word == word else { continue }
            problems.error("\(name)=\(word) cannot be with Stream=: \(reason)", at: entry.text)
        }
    }

    /// Parts of a source or a queue that a worker cannot have.
    mutating func checkStreams() {
        for source in sources {
            guard case .descriptor(let trigger)? = source.trigger, trigger.handsOver else { continue }
            let reason = trigger.accepts ? "Accept=yes" : "Framing=ready"
            for handler in source.routes.compactMap({ handlerIndices[$0.handler] }) where handlers[handler].isStream {
                problems.error(
                    "\(reason) of \(source.title) hands over a descriptor, and the workers of \(handlers[handler].title) "
                        + "read lines", at: handlers[handler].entries.entry("Stream")?.keyText ?? source.header)
            }
        }
        for section in sections where section.kind == .queue {
            guard let entry = Entries(defaultEntries(.queue), section.entries).entry("Finalizer"),
                let name = entry.value?.names.first?.string, let handler = handlerIndices[name],
                handlers[handler].isStream
            else { continue }
            problems.error(
                "Finalizer=\(name) runs at a stop, when the workers of \(handlers[handler].title) are ended: use Exec=",
                at: entry.text)
        }
    }
}

extension HandlerDraft {
    var isStream: Bool { entries.has("Stream") }

    /// `Ack=` is missing, or no.
    var isUnacknowledgedStream: Bool { isStream && entries["Ack"]?.flag != true }
}

extension HandlerDefinition {
    /// Defaults of `[Handler]` that are for other actions.
    mutating func dropForeignToStreams() {
        stride = nil
        conditions = RunConditions()
        standardInput = .event
        retry.preventExitStatus = ExitStatusSet()
        successExitStatus = ExitStatusSet()
        if overlap == .restart { overlap = nil }
        if killMode == .none { killMode = .tree }
        if onStop == .leave { onStop = nil }
    }
}

extension CommandText.Item {
    /// The first specifier in it, or `%@`.
    var firstSpecifier: SourceText? {
        if case .everything = word { return text }
        return specifiers.first?.text
    }
}
