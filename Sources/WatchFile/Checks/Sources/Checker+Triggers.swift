/// Checks of the triggers of sources. Each function tells about keys that are missing, but not where one stands that
/// this version refuses or that could not be read: that has been told.
extension Checker {
    mutating func trigger(of section: Section, _ entries: Entries) -> Trigger? {
        switch section.kind {
        case .timer: timer(section, entries)
        case .signal: signal(section, entries)
        case .path: path(section, entries)
        case .descriptor: descriptor(section, entries)
        case .process: process(section, entries)
        case .custom: .custom(CustomTrigger(merge: entries["Merge"]?.word.flatMap(CustomTrigger.Merge.init) ?? .add))
        case .group: group(section, entries)
        case .unit: unit(section, entries)
        case .watchd, .queue, .semaphore, .handler: nil
        }
    }

    mutating func missing(_ keys: String, _ section: Section) -> Trigger? {
        problems.error("\(section.title) never fires: it needs \(keys)", at: section.header)
        return nil
    }

    private mutating func signal(_ section: Section, _ entries: Entries) -> Trigger? {
        guard entries.has("Signal") else { return missing("Signal=", section) }
        let signals = entries.list("Signal").flatMap { $0.value?.signals ?? [] }
        return .signal(SignalTrigger(signals: signals.map(\.number).withoutRepeats))
    }

    private mutating func path(_ section: Section, _ entries: Entries) -> Trigger? {
        guard entries.first(of: ["Path"] + Self.systemdPathKeys) != nil else { return missing("Path=", section) }
        let patterns = entries.list("Path").flatMap { $0.value?.paths ?? [] }.withoutRepeats
        let events = entries.list("Events").flatMap { $0.value?.words ?? [] }
        if let prune = entries.list("Prune").first, !(entries["Recursive"]?.flag ?? false) {
            problems.warning("Prune= does nothing without Recursive=yes", at: prune.text)
        }
        var trigger = PathTrigger(
            paths: patterns.map(\.base).withoutRepeats,
            events: events.isEmpty ? .written : events.reduce(into: []) { $0.formUnion(Self.pathEvents[$1] ?? []) },
            filter: PathFilter(
                include: entries.list("Include").flatMap { $0.value?.globs ?? [] },
                exclude: entries.list("Exclude").flatMap { $0.value?.globs ?? [] }))
        takeSystemdPaths(entries, into: &trigger)
        trigger.polling.isAlways = entries["Poll"]?.word == "yes"
        trigger.polling.interval = entries["PollSec"]?.span ?? trigger.polling.interval
        trigger.joinsAll = entries["Join"]?.word == "all"
        trigger.settle = settle(entries)
        if entries["MakeDirectory"]?.flag ?? false {
            trigger.directoryMode = entries["DirectoryMode"]?.number.map { UInt32($0) } ?? 0o755
        }
        trigger.stopsLoops = entries["Loop"]?.word == "stop"
        // The keys of systemd are about the folder itself.
        trigger.isRecursive = trigger.ownEvents.isEmpty && entries["Recursive"]?.flag ?? false
        for (base, patterns) in Dictionary(grouping: patterns, by: \.base) where !patterns.allSatisfy(\.isPlain) {
            trigger.scopes[base] = PathScope(patterns, isRecursive: trigger.isRecursive)
        }
        trigger.followsLinks = entries["FollowSymlinks"]?.flag ?? false
        trigger.prune = PathPrune(globs: entries.list("Prune").flatMap { $0.value?.globs ?? [] })
        trigger.ignoreFile = entries["IgnoreFile"]?.path
        if !trigger.isRecursive, let file = entries.entry("IgnoreFile") {
            problems.error("IgnoreFile= is about the tree of a Path= with Recursive=yes", at: file.text)
        }
        trigger.initial = entries["Initial"]?.word.flatMap(PathTrigger.Initial.init) ?? .changed
        return .path(trigger)
    }

    private static let pathEvents: [String: PathEvents] = [
        "written": .written, "renamed": .renamed, "deleted": .deleted, "created": .created, "modified": .modified,
        "attributes": .attributes, "changed": .changed,
    ]

    private mutating func unit(_ section: Section, _ entries: Entries) -> Trigger? {
        guard entries.has("Unit") else { return missing("Unit=", section) }
        let units = entries.list("Unit").flatMap { $0.value?.words ?? [] }
        let events = entries.list("Events").flatMap { $0.value?.words ?? [] }.compactMap(UnitChange.init)
        return .unit(UnitTrigger(units: units.withoutRepeats, events: events.isEmpty ? [.failed] : Set(events)))
    }

    private mutating func group(_ section: Section, _ entries: Entries) -> Trigger? {
        guard entries.has("Members") else { return missing("Members=", section) }
        return .group(GroupTrigger(members: entries.names("Members").map(\.name.string).withoutRepeats))
    }
}
