import Schedule

/// Checks of files.
extension Checker {
    /// `nil`: an operation is submitted at once.
    func settle(_ entries: Entries) -> SettleRule? {
        guard let quiet = entries["SettleSec"]?.span, quiet != .zero else { return nil }
        return SettleRule(quiet: quiet, longest: entries["MaxSettleSec"]?.span)
    }

    // MARK: systemd.path(5)

    static let systemdPathKeys = ["PathChanged", "PathModified", "PathExists", "PathExistsGlob", "DirectoryNotEmpty"]

    /// The keys of systemd, with systemd's meaning.
    func takeSystemdPaths(_ entries: Entries, into trigger: inout PathTrigger) {
        func paths(_ name: String) -> [[UInt8]] { entries.list(name).compactMap { $0.value?.path }.withoutRepeats }
        for path in paths("PathChanged") { trigger.ownEvents[path] = .ofPathChanged }
        for path in paths("PathModified") { trigger.ownEvents[path] = [.ofPathChanged, .modified] }
        let own = (paths("PathChanged") + paths("PathModified")).withoutRepeats
        trigger.paths += own.filter { !trigger.paths.contains($0) }
        let patterns = entries.list("PathExistsGlob").compactMap { $0.value?.pathPattern }.withoutRepeats
        let conditions =
            paths("PathExists").map(PathLevels.Condition.exists) + patterns.map(PathLevels.Condition.existsGlob)
            + paths("DirectoryNotEmpty").map(PathLevels.Condition.notEmpty)
        if !conditions.isEmpty { trigger.levels = PathLevels(conditions) }
        guard !entries.has("Path") else { return }
        // A condition tells `written`.
        trigger.events = trigger.ownEvents.values.reduce(conditions.isEmpty ? [] : .written) { $0.union($1) }
    }

    /// The first handler's pauses are those of the source's conditions.
    mutating func connectLevels() {
        for index in sources.indices {
            guard case .path(var trigger)? = sources[index].trigger, trigger.levels != nil,
                let handler = sources[index].routes.first.flatMap({ handlerIndices[$0.handler] })
            else { continue }
            trigger.levels?.pause = handlers[handler].retry.delay
            trigger.levels?.longestPause = handlers[handler].retry.maxDelay
            sources[index].trigger = .path(trigger)
        }
    }

    /// Each of the keys of systemd says itself what it is told of.
    mutating func checkSystemdPaths() {
        for source in sources where source.id.kind == .path {
            guard let first = source.entries.first(of: Self.systemdPathKeys) else { continue }
            for name in ["Path", "Events", "Recursive"] {
                guard let entry = source.entries.entry(name), !entry.isDefault, entry.value?.flag != false else {
                    continue
                }
                problems.error(
                    "\(first.key.name)= says itself what is told: it cannot stand beside \(name)=, write it in a section of its own",
                    at: entry.keyText)
            }
        }
    }

    /// All paths make one operation.
    mutating func checkJoin() {
        for source in sources where source.id.kind == .path {
            guard let join = source.entries.entry("Join"), case .path(let trigger)? = source.trigger, trigger.joinsAll
            else { continue }
            let isOneKey = if case .handler = source.key { true } else { false }
            if !source.coalesces || !isOneKey {
                let other = source.coalesces ? "Key=" : "Coalesce=no"
                problems.error(
                    "Join=all makes one operation of the changes of all paths, and \(other) keeps them apart",
                    at: join.keyText)
            } else if trigger.levels != nil {
                problems.error("Join=all waits for changes, and what fires while it holds is none", at: join.keyText)
            } else if let scope = trigger.scopes.values.first(where: { $0.patterns.count > 1 }) {
                problems.error(
                    "Join=all cannot tell \(scope.patterns[0]) and \(scope.patterns[1]) apart: they begin with the same folder",
                    at: join.keyText)
            } else if let (inner, outer) = overlap(trigger) {
                problems.error(
                    "Join=all cannot tell a change of \(inner) from one of \(outer), which it is part of",
                    at: join.keyText)
            } else if trigger.paths.count < 2, !join.isDefault {
                problems.warning("Join=all of a single path waits for nothing", at: join.keyText)
            }
        }
    }

    /// A path all of whose changes are those of another one, too.
    private func overlap(_ trigger: PathTrigger) -> (inner: String, outer: String)? {
        for outer in trigger.paths where trigger.isRecursive {
            let inner = trigger.paths.first { $0 != outer && IgnoreRules.isAtOrBelow($0, outer) }
            if let inner { return (String(decoding: inner, as: UTF8.self), String(decoding: outer, as: UTF8.self)) }
        }
        return nil
    }

    /// A mode of folders that nobody makes.
    mutating func checkDirectoryModes() {
        for source in sources where source.id.kind == .path {
            let entries = source.entries
            guard let mode = entries.entry("DirectoryMode"), !mode.isDefault, entries["MakeDirectory"]?.flag != true,
                entries.entry("MakeDirectory")?.isUnreadable != true
            else { continue }
            problems.error("DirectoryMode= needs MakeDirectory=yes", at: mode.keyText)
        }
    }

    /// A key is quiet only where there is one, and its events are together.
    mutating func checkSettling() {
        for source in sources where source.id.kind == .path {
            let (quiet, longest) = (source.entries.entry("SettleSec"), source.entries.entry("MaxSettleSec"))
            guard let rule = settle(source.entries), let quiet else {
                if let longest, !longest.isDefault, quiet?.isUnreadable != true {
                    problems.error("MaxSettleSec= needs SettleSec=: how long is quiet?", at: longest.keyText)
                }
                continue
            }
            if source.hasNoKey {
                problems.error(
                    "SettleSec= waits until a key is quiet, and with Key=none there is none: drop Key=none, or write Key=%p",
                    at: quiet.keyText)
            } else if !source.coalesces {
                problems.error(
                    "SettleSec= waits until all events of a key are together, and Coalesce=no keeps them apart",
                    at: quiet.keyText)
            }
            guard let longest, rule.longest < rule.quiet else { continue }
            // The section's own is the one to be changed.
            let place = longest.isDefault ? quiet : longest
            problems.error(
                "MaxSettleSec=\(rule.longest.brief) is shorter than SettleSec=\(rule.quiet.brief)", at: place.text)
        }
    }
}
