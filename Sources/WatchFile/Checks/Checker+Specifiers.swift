/// Specifiers that cannot mean anything where they stand.
extension Checker {
    mutating func checkSpecifiers() {
        for source in sources { checkOneEntry(source) }
        checkData()
    }

    // MARK: One path of several

    /// An operation whose events were merged has several paths or lines, and a specifier names one of them only. It is
    /// sound where all of them agree: where the key says what the specifier says.
    private mutating func checkOneEntry(_ source: SourceDraft) {
        guard source.coalesces else { return }
        let ambiguous = ambiguousSpecifiers(of: source)
        if ambiguous.isEmpty { return }
        for route in source.routes {
            guard let index = handlerIndices[route.handler] else { continue }
            let handler = handlers[index]
            for located in handler.specifiers where ambiguous.contains(located.specifier) {
                let isCommand = !handler.commands.isEmpty
                problems.error(
                    source.id.kind == .path
                        ? "\(located.text.shown) is of one path, but an operation of \(source.title) may carry several: "
                            + "add Key=%p\(isCommand ? ", or use %@" : "")"
                        : "\(located.text.shown) is of one line, but an operation of \(source.title) may carry several: "
                            + "add Coalesce=no\(isCommand ? ", or use %@" : "")", at: located.text)
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
        case .timer, .signal, .process, .custom, nil:
            return []
        }
    }

    private static let pathSpecifiers: Set<Specifier> = [.path, .lastComponent, .relativePath, .oldPath, .folder]
    private static let lineSpecifiers = Set([.line] + (1...9).map(Specifier.capture))

    // MARK: Data

    /// `%{data}` is for custom events; a handler that none can reach has none.
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
    }

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
            for target in handlers[index].completions.compactMap({ handlerIndices[$0.name.string] }) {
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
            for command in handler.commands {
                for text in CodeCheck.foreignText(in: command.items) {
                    problems.error(
                        "\(text.shown) becomes part of a program text here, and a file name must never become code: "
                            + "use \"$WATCHD_PATH\" or its like, or pass it as an argument after the text", at: text)
                }
            }
        }
    }
}
