/// Defaults that follow from other sections: which queue, and `Overlap=` by the sources that start a handler.
struct FollowingDefaults {
    private var queues: [String: [String]] = [:]
    /// By handler.
    private var overlaps: [String: [Overlap]] = [:]

    init(_ merged: SectionMerger, _ context: LoadContext) {
        var checker = Checker(merged, context: context, problems: Problems())
        let configuration = checker.check()
        var required: [String: [String]] = [:]
        for handler in configuration.handlers {
            queues["handler/\(handler.name)"] = [handler.queue ?? "default"]
            required[handler.name] = handler.constraints.requires
        }
        for source in configuration.sources {
            queues[source.id.description] = source.routes.map(\.queue).withoutRepeats
            for name in Self.started(by: source, required) { add(.usual(for: source), of: name) }
        }
    }

    /// Those that no file has.
    func keys(of section: Section, besides entries: [Entry]) -> [SectionListing.Key] {
        func isWritten(_ name: String) -> Bool { entries.contains { $0.key.name == name } }
        var keys: [SectionListing.Key] = []
        if !isWritten("Queue"), let names = queues[section.fullName], !names.isEmpty {
            keys.append(SectionListing.Key(name: "Queue", value: names.joined(separator: ", ")))
        }
        if WatchFile.isHandler(section.kind, entries), !isWritten("Overlap") {
            let words = (overlaps[section.name] ?? [.wait]).map(\.rawValue)
            keys.append(SectionListing.Key(name: "Overlap", value: words.joined(separator: ", ")))
        }
        return keys
    }

    private mutating func add(_ overlap: Overlap, of handler: String) {
        if overlaps[handler]?.contains(overlap) != true { overlaps[handler, default: []].append(overlap) }
    }

    /// Its handlers, and what they require.
    private static func started(by source: SourceDefinition, _ required: [String: [String]]) -> [String] {
        var names = source.routes.map(\.handler).withoutRepeats
        var next = 0
        while next < names.count {
            names += (required[names[next]] ?? []).filter { !names.contains($0) }
            next += 1
        }
        return names
    }
}
