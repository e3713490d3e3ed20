/// Names that must exist, and the routes that follow from them.
extension Checker {
    mutating func checkReferences() {
        let handlerNames = Set(handlers.map(\.name))
        let queuesAndAliases = queueNames.union(QueueDefinition.aliases.keys)
        let customNames = Set(customIndices.keys)
        // Each written entry once: those that a drop-in clears or replaces must be right too.
        for entry in (sections + defaults.values.sorted { $0.kind.prefix < $1.kind.prefix }).flatMap(\.entries) {
            // Of a semaphore: the names of its units.
            if case .members = entry.key.type { continue }
            switch entry.key.name {
            case "Handler", "Members", "After", "Requires", "Finalizer", "OnSuccess", "OnFailure", "OnRetry",
                "OnChange", "OnFinished", "OnLate", "OnSlow", "OnSilence", "OnSound", "OnProblem", "OnSolved":
                for name in entry.value?.names ?? [] where !name.string.hasPrefix(HandlerDraft.processPrefix) {
                    checkHandler(name, entry, among: handlerNames)
                }
            case "Queue", "Target":
                for name in entry.value?.names ?? [] { check(name, "queue", among: queuesAndAliases) }
            case "Acquire", "Release", "Consume":
                for count in entry.value?.counts ?? [] { check(count.name, "semaphore", among: semaphoreNames) }
            case "Emit":
                if let emission = entry.value?.emission { check(emission.source, "custom source", among: customNames) }
            default: break
            }
        }
    }

    /// A process of that name may be what is meant: it is waited for by another word, or not at all.
    private mutating func checkHandler(_ name: Value.Name, _ entry: Entry, among names: Set<String>) {
        let process = HandlerDraft.processPrefix + name.string
        guard !names.contains(name.string),
            sections.contains(where: { $0.fullName == process && isSupervised($0, allEntries($0)) })
        else { return check(name, "handler", among: names) }
        let message = "there is no handler \(name.string)"
        switch entry.key.name {
        case "After": problems.error(message, at: name.text, suggestion: process)
        case "Requires":
            problems.error("\(message), but a [Process \(name.string)]: write After=\(process)", at: name.text)
        default: check(name, "handler", among: names)
        }
    }

    private func allEntries(_ section: Section) -> Entries { Entries(defaultEntries(section.kind), section.entries) }

    private mutating func check(_ name: Value.Name, _ what: String, among names: Set<String>) {
        guard !names.contains(name.string) else { return }
        let advice = what == "handler" ? Self.advice(onHandler: name.string) : ""
        problems.error(
            "there is no \(what) \(name.string)\(advice)", at: name.text,
            suggestion: problems.nearest(to: name.string, among: names.sorted()))
    }

    private static func advice(onHandler name: String) -> String {
        if name == "mail" { return ": write [Handler mail] with Mail=ADDRESS" }
        if name.hasPrefix("network") && name.hasSuffix(".target") {
            return ": the network is waited for by HoldUntil=network-online"
        }
        let isUnit = [".target", ".service", ".mount", ".socket", ".device"].contains { name.hasSuffix($0) }
        return isUnit ? ": a unit is waited for by HoldUntil=unit:\(name)" : ""
    }

    /// Keys that start the handlers they name.
    private static let startingKeys: Set<String> = [
        "Handler", "Requires", "Finalizer", "OnSuccess", "OnFailure", "OnRetry", "OnChange", "OnFinished", "OnLate",
        "OnSlow", "OnSilence", "OnSound", "OnProblem", "OnSolved",
    ]

    /// Warns of each `[Handler]` that nothing starts but a person. Where something is wrong, that may be why.
    mutating func checkUnstarted() {
        var started: Set<String> = []
        for section in sections + Array(defaults.values) {
            for entry in section.entries where Self.startingKeys.contains(entry.key.name) {
                started.formUnion((entry.value?.names ?? []).map(\.string))
            }
        }
        for section in sections where section.kind == .handler && !section.name.isEmpty {
            guard !started.contains(section.name), handlerIndices[section.name] != nil else { continue }
            problems.warning(
                "nothing starts \(section.title): no Handler= and no OnFailure= or its like names it; "
                    + "watchctl run \(section.name) does", at: section.header)
        }
    }

    mutating func connectRoutes() {
        for index in handlers.indices {
            handlers[index].queue = handlers[index].entries["Queue"]?.names.first.flatMap { queueName($0.string) }
        }
        for index in sources.indices {
            let source = sources[index]
            let own = source.hasOwnHandler ? [source.id.name] : []
            let queue = source.entries["Queue"]?.names.first.flatMap { queueName($0.string) }
            sources[index].routes = (own + source.handlerNames.map(\.string)).withoutRepeats.compactMap { name in
                handlerIndices[name].map { Route(handler: name, queue: queue ?? handlers[$0].queue ?? "default") }
            }
        }
    }
}
