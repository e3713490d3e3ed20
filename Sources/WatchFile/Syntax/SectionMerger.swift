/// Lays drop-ins over the files that they extend.
struct SectionMerger {
    /// In the order of the files. Sections of defaults are `defaults`; `[Watchd]` is among the sections.
    private(set) var sections: [Section] = []
    private(set) var defaults: [SectionKind: Section] = [:]

    private var indices: [Identity: Int] = [:]
    /// Where each file has a section.
    private var seen: [Identity: [String: SourceText]] = [:]

    private struct Identity: Hashable {
        var kind: SectionKind
        var name: String
    }

    static func merge(_ texts: [SectionText], problems: inout Problems) -> SectionMerger {
        var merger = SectionMerger()
        for text in texts where !text.isDropIn { merger.add(text, &problems) }
        for text in texts where text.isDropIn { merger.add(text, &problems) }
        for (index, section) in merger.sections.enumerated().reversed() where section.isDefaults {
            merger.defaults[section.kind] = merger.sections.remove(at: index)
        }
        return merger
    }

    /// Each file has a section once; only a drop-in may take it up again, and only that of its own file.
    private mutating func add(_ text: SectionText, _ problems: inout Problems) {
        guard let name = text.name else { return }
        let identity = Identity(kind: text.kind, name: name)
        var entries = text.entries
        if name.isEmpty, text.kind != .watchd {
            for index in entries.indices { entries[index].isDefault = true }
        }
        guard let index = indices[identity] else {
            indices[identity] = sections.count
            sections.append(
                Section(kind: text.kind, name: name, header: text.header, owner: text.owner, entries: entries))
            seen[identity] = [text.header.file.name: text.header]
            return
        }
        if let first = seen[identity]?[text.header.file.name] {
            problems.error(
                "\(sections[index].title) stands in this file already, on line \(first.position.line)", at: text.header)
        } else if sections[index].owner != text.owner {
            problems.error(
                "\(sections[index].title) stands in \(sections[index].header.place) already", at: text.header)
        } else {
            seen[identity]?[text.header.file.name] = text.header
            sections[index].entries += entries
        }
    }
}
