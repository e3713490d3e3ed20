/// A section with all that is in force in it, for people who ask which line decides.
package struct SectionListing: Equatable, Sendable {
    package struct Key: Equatable, Sendable {
        package var name: String
        /// As it is written.
        package var value: String
        /// `nil`: no file has it, it is the default.
        package var location: SourceLocation?
    }

    /// `path/uploads`.
    package var name: String
    /// `[Path uploads]`.
    package var title: String
    package var location: SourceLocation
    package var keys: [Key]
}

extension WatchFile {
    /// The sections in the order of the files, with the drop-ins and the defaults of their kinds laid over one another.
    ///
    /// - Parameter withDefaults: also the keys that no file has, where their default is a value.
    package static func list(
        _ texts: [WatchFileText], context: LoadContext, withDefaults: Bool
    ) -> [SectionListing] {
        var problems = Problems()
        let sections = readSections(of: texts, context: context, problems: &problems)
        let merged = SectionMerger.merge(sections, problems: &problems)
        let following = withDefaults ? FollowingDefaults(merged, context) : nil
        return merged.sections.map { section in
            let entries = entries(of: section, merged.defaults)
            var keys = entries.map {
                SectionListing.Key(name: $0.key.name, value: $0.text.string, location: $0.keyText.location)
            }
            if let following {
                keys += usual(in: section.kind, besides: entries) + following.keys(of: section, besides: entries)
            }
            return SectionListing(
                name: section.fullName, title: section.title, location: section.header.location, keys: keys)
        }
    }

    private static func entries(of section: Section, _ defaults: [SectionKind: Section]) -> [Entry] {
        let own = (defaults[section.kind]?.entries ?? []) + section.entries
        let handler = hasAction(section.kind, own) ? defaults[.handler]?.entries ?? [] : []
        var result: [Entry] = []
        for entry in section.kind == .handler ? own : handler + own {
            if entry.isClearing || !entry.key.isList { result.removeAll { $0.key.name == entry.key.name } }
            if !entry.isClearing { result.append(entry) }
        }
        return result
    }

    /// A source with one has the keys of a handler too.
    private static func hasAction(_ kind: SectionKind, _ entries: [Entry]) -> Bool {
        let names = KeyTable.actionNames(in: kind)
        return kind.sourceKind != nil && entries.contains { names.contains($0.key.name) && !$0.isClearing }
    }

    /// Without an action a source has of a handler's keys only those of a route.
    static func isHandler(_ kind: SectionKind, _ entries: [Entry]) -> Bool {
        kind == .handler || hasAction(kind, entries)
    }

    private static func usual(in kind: SectionKind, besides entries: [Entry]) -> [SectionListing.Key] {
        let written = Set(entries.map(\.key.name))
        let isHandler = isHandler(kind, entries)
        return KeyTable.keys(of: kind).compactMap { key in
            guard !written.contains(key.name), isHandler || !KeyTable.isHandlerKey(key.name, in: kind) else {
                return nil
            }
            return key.usual.map { SectionListing.Key(name: key.name, value: $0) }
        }
    }
}
