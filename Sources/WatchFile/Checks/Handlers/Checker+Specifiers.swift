/// Specifiers that cannot mean anything where they stand.
extension Checker {
    mutating func checkSpecifiers() {
        for source in sources {
            for located in source.keySpecifiers {
                guard case .acquired = located.specifier else { continue }
                problems.error(
                    "\(located.text.shown) cannot be in Key=: a run is lent members when it starts, and has its key before",
                    at: located.text)
            }
            let ambiguous = ambiguousSpecifiers(of: source)
            if ambiguous.isEmpty { continue }
            for index in source.routes.compactMap({ handlerIndices[$0.handler] }) {
                checkOneEntry(ambiguous, source, handlers[index])
            }
        }
        checkRequired()
        checkToldOfSeveral()
        checkData()
    }

    // MARK: One path of several

    /// An operation whose events were merged has several paths or lines, and a specifier names one of them only. It is
    /// sound where all of them agree: where the key says what the specifier says. Without `Coalesce=` too, a restart
    /// adds the events of the operation that it ends.
    private mutating func checkOneEntry(_ ambiguous: Set<Specifier>, _ source: SourceDraft, _ handler: HandlerDraft) {
        // In Stream= each of them is a mistake already.
        guard !handler.isStream, source.coalesces || handler.overlap == .restart && !source.hasNoKey else { return }
        for located in handler.specifiers where ambiguous.contains(located.specifier) {
            problems.error(
                "\(severalEntries(located, source)): \(advice(source))\(handler.commands.isEmpty ? "" : ", or use %@")",
                at: located.text)
        }
    }

    private func severalEntries(_ located: TemplateText.Located, _ source: SourceDraft) -> String {
        "\(located.text.shown) is of one \(source.id.kind == .path ? "path" : "line"), but an operation of "
            + "\(source.title) may carry several"
    }

    private func advice(_ source: SourceDraft) -> String {
        if source.id.kind == .path { return "add Key=%p to it" }
        return source.coalesces ? "add Coalesce=no to it" : "drop Overlap=restart"
    }

    /// Handlers that `On…=` starts are told of one operation each, which may have had several paths or lines itself.
    private mutating func checkToldOfSeveral() {
        var isWarned: Set<Int> = []
        for source in sources where source.coalesces {
            var pending = source.routes.compactMap { handlerIndices[$0.handler] }
            guard pending.contains(where: { !handlers[$0].completions.isEmpty }) else { continue }
            let ambiguous = ambiguousSpecifiers(of: source)
            if ambiguous.isEmpty { continue }
            var known = Set(pending)
            while let index = pending.popLast() {
                for told in handlers[index].completions.compactMap({ handlerIndices[$0.name.string] })
                where known.insert(told).inserted {
                    pending.append(told)
                    // A line of the log may be about the newest.
                    guard !handlers[told].isLog,
                        let located = handlers[told].specifiers.first(where: { ambiguous.contains($0.specifier) }),
                        isWarned.insert(told).inserted
                    else { continue }
                    problems.warning(
                        "\(severalEntries(located, source)), of which the newest is told: \(advice(source))"
                            + (handlers[told].commands.isEmpty ? "" : ", or use %@"), at: located.text)
                }
            }
        }
    }

    /// Handlers that `Requires=` pulls in see the same events.
    private mutating func checkRequired() {
        /// A specifier, and whether the events merge.
        struct Doubt: Hashable {
            var specifier: Specifier
            var coalesces: Bool
        }
        /// By handler: the first source that raises each doubt.
        var doubts: [Int: [Doubt: Int]] = [:]
        var pending: [Int] = []
        for (index, source) in sources.enumerated() {
            let ambiguous = ambiguousSpecifiers(of: source).map { Doubt(specifier: $0, coalesces: source.coalesces) }
            for handler in source.routes.compactMap({ handlerIndices[$0.handler] }) where !ambiguous.isEmpty {
                doubts[handler, default: [:]].merge(
                    ambiguous.map { ($0, index) }, uniquingKeysWith: { first, _ in first })
                pending.append(handler)
            }
        }
        while let index = pending.popLast() {
            let raised = doubts[index] ?? [:]
            for required in handlers[index].required.compactMap({ handlerIndices[$0.name.string] }) {
                let known = doubts[required, default: [:]].count
                doubts[required, default: [:]].merge(raised, uniquingKeysWith: { first, _ in first })
                if doubts[required]?.count != known { pending.append(required) }
            }
        }
        for (index, raised) in doubts.sorted(by: { $0.key < $1.key }) {
            for (doubt, source) in raised.sorted(by: { $0.value < $1.value }) {
                checkOneEntry([doubt.specifier], sources[source], handlers[index])
            }
        }
    }

    private func ambiguousSpecifiers(of source: SourceDraft) -> Set<Specifier> {
        let key = Set(source.keySpecifiers.map(\.specifier))
        switch source.trigger {
        case .path(let trigger):
            let isOnePath =
                key.contains(.path) || key.isSuperset(of: [.folder, .lastComponent])
                || key.contains(.relativePath) && trigger.paths.count == 1
            return isOnePath ? [] : Self.pathSpecifiers.subtracting(key)
        case .descriptor:
            return key.contains(.line) ? [] : Self.lineSpecifiers.subtracting(key)
        case .timer, .signal, .process, .unit, .custom, .group, nil:
            return []
        }
    }

    private static let pathSpecifiers: Set<Specifier> = [.path, .lastComponent, .relativePath, .oldPath, .folder]
    private static let lineSpecifiers = Set([.line] + (1...9).map(Specifier.capture))

    // MARK: Data

    /// `%{data}` is for custom events, `%p` and its like are for paths: a handler that none can reach has none.
    private mutating func checkData() {
        for source in sources where source.id.kind != .custom {
            for located in source.keySpecifiers where located.specifier == .data {
                problems.error("\(located.text.shown) is for [Custom] sources only", at: located.text)
            }
        }
        let causes = causesOfHandlers
        for (index, handler) in handlers.enumerated() {
            guard let kinds = causes[index], !kinds.isEmpty, !kinds.contains(.custom) else { continue }
            for located in handler.specifiers where located.specifier == .data {
                problems.error(
                    "\(located.text.shown) is for [Custom] sources only, and none starts \(handler.title)",
                    at: located.text)
            }
        }
        for (index, handler) in handlers.enumerated() {
            guard let kinds = causes[index], !kinds.isEmpty, kinds.isSubset(of: Self.kindsWithoutPaths) else {
                continue
            }
            for located in handler.specifiers where Self.pathSpecifiers.contains(located.specifier) {
                problems.warning(
                    "\(located.text.shown) stands for nothing here: no source that starts \(handler.title) has paths",
                    at: located.text)
            }
        }
    }

    /// The sources of these kinds have neither paths nor clients that give some.
    private static let kindsWithoutPaths: Set<SourceKind> = [.timer, .signal, .process, .unit, .group]

    /// The kinds of sources whose events a handler may see, its own or those of the run it is told of.
    private var causesOfHandlers: [Int: Set<SourceKind>] {
        var causes: [Int: Set<SourceKind>] = [:]
        var pending: [Int] = []
        for source in sources {
            for index in source.routes.compactMap({ handlerIndices[$0.handler] }) {
                causes[index, default: []].insert(source.id.kind)
                pending.append(index)
            }
        }
        while let index = pending.popLast() {
            let kinds = causes[index] ?? []
            for target in (handlers[index].completions + handlers[index].required)
                .compactMap({ handlerIndices[$0.name.string] })
            {
                guard !kinds.isSubset(of: causes[target] ?? []) else { continue }
                causes[target, default: []].formUnion(kinds)
                pending.append(target)
            }
        }
        return causes
    }

    // MARK: Code

    mutating func checkScripts() {
        for handler in handlers {
            for command in handler.conditions + handler.commands {
                for (text, variable) in CodeCheck.foreignText(in: command.items) {
                    let use = variable.map { "use \"$\($0)\", or " } ?? ""
                    problems.error(
                        "\(text.shown) becomes part of a program text here, and what others choose must never become "
                            + "code: \(use)pass it as an argument after the text", at: text)
                }
            }
        }
    }
}
