import Schedule

extension Checker {
    mutating func readHandlersAndSources() {
        for section in sections {
            if section.kind == .handler {
                readHandler(section)
            } else if let kind = section.kind.sourceKind {
                readSource(section, kind)
            }
        }
    }

    private mutating func readHandler(_ section: Section) {
        let entries = Entries(defaultEntries(.handler), section.entries)
        if entries.first(of: KeyTable.actionNames) == nil {
            problems.error(
                "\(section.title) does nothing: it needs Exec=, Stream=, Unit=, Process=, Log=, Emit= or Mail=",
                at: section.header)
        }
        addHandler(
            HandlerDraft(name: section.name, header: section.header, title: section.title, entries: entries))
    }

    private mutating func readSource(_ section: Section, _ kind: SourceKind) {
        let entries = Entries(defaultEntries(section.kind), section.entries)
        let hasAction = entries.first(of: KeyTable.actionNames(in: section.kind)) != nil
        if hasAction {
            let own = Entries(
                defaultEntries(.handler), actionEntries(defaultEntries(section.kind), kind: section.kind),
                actionEntries(section.entries, kind: section.kind))
            var draft = HandlerDraft(
                name: section.name, header: section.header, title: section.title, entries: own)
            draft.sharedKeys = processKeys(section, entries)
            addHandler(draft)
        } else {
            checkHandlerKeys(section, ofItsProcess: processKeys(section, entries))
            let startsSomething = (["Handler"] + SourceDraft.silenceKeys).contains { entries.has($0) }
            if !startsSomething, !isSupervised(section, entries) {
                problems.error(
                    "\(section.title) starts nothing: it needs Handler= or an action such as Exec=", at: section.header)
            }
        }
        checkLength(of: "Handler", entries)
        for key in ["Members"] + SourceDraft.silenceKeys { checkLength(of: key, entries) }
        let trigger = trigger(of: section, entries)
        if kind == .custom { customIndices[section.name] = sources.count }
        sources.append(
            SourceDraft(
                id: SourceID(kind, section.name), header: section.header, title: section.title, entries: entries,
                hasOwnHandler: hasAction, trigger: trigger))
    }

    /// Without what a source of this kind means by the name of a handler's key.
    private func actionEntries(_ entries: [Entry], kind: SectionKind) -> [Entry] {
        entries.filter {
            !KeyTable.handlerNames.contains($0.key.name) || KeyTable.routeNames.contains($0.key.name)
                || KeyTable.isHandlerKey($0.key.name, in: kind)
        }
    }

    /// The keys of a handler that the process of a `Command=` has.
    private func processKeys(_ section: Section, _ entries: Entries) -> Set<String> {
        guard entries.has("Command") else { return [] }
        return section.kind == .process ? KeyTable.processNames : KeyTable.launchNames
    }

    /// Without an action there is nothing that they could be about, but for the process that is supervised.
    private mutating func checkHandlerKeys(_ section: Section, ofItsProcess names: Set<String>) {
        for entry in section.entries
        where !entry.isUnreadable && KeyTable.isHandlerKey(entry.key.name, in: section.kind)
            && !names.contains(entry.key.name)
        {
            problems.error(
                "\(entry.key.name)= belongs to an action, and \(section.title) has none: write it in the [Handler] that it starts",
                at: entry.keyText)
        }
    }

    private mutating func addHandler(_ draft: HandlerDraft) {
        if let other = handlerIndices[draft.name] {
            problems.error(
                "\(draft.title) makes a second handler \(draft.name), after \(handlers[other].title) in "
                    + handlers[other].header.place, at: draft.header)
            return
        }
        var draft = draft
        readAction(of: &draft)
        for key in HandlerDraft.referenceKeys + HandlerDraft.semaphoreKeys { checkLength(of: key, draft.entries) }
        checkRetry(of: draft)
        checkStop(of: draft)
        checkPatience(of: draft)
        checkBatch(of: draft)
        checkUnit(of: draft)
        checkPlacement(of: draft)
        checkProcessKeys(of: draft)
        checkUnusedProcessKeys(of: draft)
        checkContract(draft.entries)
        checkProgress(of: draft)
        checkDigest(of: draft)
        draft.conditions = draft.entries.list("ExecCondition").compactMap { $0.value?.command }
        let specifiers =
            (draft.conditions + draft.commands).flatMap { $0.items.flatMap(\.specifiers) }
            + draft.templates.flatMap(\.specifiers)
        draft.specifiers = Array(specifiers.prefix(HandlerDraft.maximumSpecifiers))
        handlerIndices[draft.name] = handlers.count
        handlers.append(draft)
    }

    mutating func checkLength(of key: String, _ entries: Entries) {
        var count = 0
        for entry in entries.list(key) {
            count += (entry.value?.names.count ?? 0) + (entry.value?.counts.count ?? 0)
            guard count > WatchFile.maximumNames else { continue }
            problems.error("\(key)= has more than \(WatchFile.maximumNames) names", at: entry.text)
            return
        }
    }

    /// Keys about a process, beside an action that starts none; its conditions would be processes.
    private mutating func checkUnusedProcessKeys(of draft: HandlerDraft) {
        let kinds = KeyTable.actionNames.filter { draft.entries.has($0) }
        guard kinds.count == 1, KeyTable.processless.contains(kinds[0]), !draft.entries.has("ExecCondition") else {
            return
        }
        for key in KeyTable.ofProcess where !draft.sharedKeys.contains(key) {
            guard let entry = draft.entries.entry(key), !entry.isDefault, !entry.isUnreadable else { continue }
            problems.error("\(key)= means nothing beside \(kinds[0])=, which starts no process", at: entry.keyText)
        }
    }

    /// Only a command has a process of its own run.
    private mutating func checkProgress(of draft: HandlerDraft) {
        guard let entry = draft.entries.entry("Progress"), !entry.isDefault, entry.value?.flag == true,
            let kind = draft.entries.first(of: KeyTable.actionNames), kind.key.name != "Exec"
        else { return }
        problems.error(
            "Progress= means nothing beside \(kind.key.name)=: only the commands of Exec= have a NOTIFY_SOCKET",
            at: entry.keyText)
    }

    /// A digest has one delay, and nothing but mail has one.
    private mutating func checkDigest(of draft: HandlerDraft) {
        guard let entry = draft.entries.entry("DigestSec"), !entry.isDefault, !entry.isUnreadable else { return }
        guard draft.entries.has("Mail") else {
            return problems.error("DigestSec= needs Mail=", at: entry.keyText)
        }
        for key in ["DelaySec", "Stride"] {
            guard let other = draft.entries.entry(key), !other.isUnreadable, other.value?.span != .zero else {
                continue
            }
            problems.error(
                "\(key)= and DigestSec= exclude each other: a digest is one mail, at the end of its span",
                at: other.isDefault ? entry.keyText : other.keyText)
        }
    }

    /// Without a delay nothing waits to become a batch.
    private mutating func checkBatch(of draft: HandlerDraft) {
        guard let entry = draft.entries.entry("BatchSize"), !entry.isDefault, !entry.isUnreadable,
            (draft.entries["DelaySec"]?.span ?? .zero) == .zero, draft.entries.entry("DelaySec")?.isUnreadable != true
        else { return }
        problems.error(
            "BatchSize= needs DelaySec=, the longest time that entries wait for others", at: entry.keyText)
    }

    private mutating func checkRetry(of draft: HandlerDraft) {
        guard let longest = draft.entries.entry("RetryMaxSec") else { return }
        let (policy, first) = (draft.retry, draft.entries.entry("RetrySec"))
        guard policy.maxDelay < policy.delay, first?.isUnreadable != true else { return }
        // The handler's own entry is the one that has to be changed.
        let place = longest.isDefault ? first ?? longest : longest
        problems.error(
            "RetryMaxSec=\(policy.maxDelay.brief) is shorter than RetrySec=\(policy.delay.brief)"
                + (first == nil ? ", its default" : ""), at: place.text)
    }

    /// The commands behind the one that runs would never be started: no watchd is there to do it.
    private mutating func checkStop(of draft: HandlerDraft) {
        guard !draft.isStream, let entry = draft.entries.entry("OnStop"),
            entry.value?.word == StopPolicy.leave.rawValue
        else { return }
        switch draft.action {
        case .log, .emit, .mail:
            if entry.isDefault { return }
            return problems.error("OnStop=leave is about a process, and this handler has none", at: entry.text)
        default: break
        }
        // Those of a unit are started by the service manager.
        let commands = (draft.runsInUnit ? 1 : draft.commands.count) + draft.entries.list("ExecCondition").count
        guard commands > 1, !entry.isDefault else { return }
        problems.error(
            "OnStop=leave needs a single command: watchd is not there to start the ones that follow", at: entry.text)
    }

    private mutating func readAction(of draft: inout HandlerDraft) {
        let kinds = KeyTable.actionNames.compactMap { draft.entries.entry($0) }
        if kinds.count > 1 {
            for extra in kinds.dropFirst() where !extra.isUnreadable {
                problems.error(
                    "a handler has one kind of action: \(extra.key.name)= besides \(kinds[0].key.name)=",
                    at: extra.keyText)
            }
            return
        }
        readStream(of: &draft)
        if draft.isStream { return }
        let lines = draft.entries.list("Exec")
        draft.commands = lines.compactMap { $0.value?.command }
        if !draft.commands.isEmpty {
            draft.action = .exec(draft.commands.map(\.command))
        } else if let text = draft.entries["Log"]?.template {
            draft.templates = [text]
            draft.action = .log(text.template)
        } else if let emission = draft.entries["Emit"]?.emission {
            draft.emission = emission
            draft.templates = emission.data.map { [$0] } ?? []
            draft.action = .emit(source: emission.source.string, data: emission.data?.template)
        } else if draft.entries.has("Unit") {
            readUnit(of: &draft)
        } else if draft.entries.has("Process") {
            readProcessAction(of: &draft)
        } else {
            readMail(of: &draft)
        }
    }

    private mutating func readMail(of draft: inout HandlerDraft) {
        let lines = draft.entries.list("Mail")
        let addresses = lines.flatMap { $0.value?.words ?? [] }.withoutRepeats
        guard !addresses.isEmpty, lines.allSatisfy({ $0.value != nil }) else { return }
        draft.action = .mail(to: addresses)
        if addresses.count > WatchFile.maximumNames, let line = lines.last {
            problems.error("Mail= has more than \(WatchFile.maximumNames) addresses", at: line.text)
        }
        if let input = draft.entries.entry("StandardInput"), !input.isDefault, !input.isUnreadable {
            problems.error("StandardInput= means nothing beside Mail=, whose program reads the mail", at: input.keyText)
        }
    }
}
