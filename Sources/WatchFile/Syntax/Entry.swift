/// One assignment of a section whose key is known.
struct Entry {
    let key: Key
    let keyText: SourceText
    let text: SourceText
    /// `nil` when it clears, and after an error that has been told.
    let value: Value?
    /// Nothing stands behind the `=`.
    let isClearing: Bool
    /// Comes from the section of defaults of its kind.
    var isDefault = false
}

/// The sum of the entries of a section: a single value is that of the last entry, lists grow, an empty value clears.
struct Entries {
    private var byName: [String: [Entry]] = [:]

    init(_ entries: [Entry]...) {
        for entry in entries.joined() {
            if entry.isClearing {
                byName[entry.key.name] = nil
            } else if entry.key.isList {
                byName[entry.key.name, default: []].append(entry)
            } else {
                byName[entry.key.name] = [entry]
            }
        }
    }

    func list(_ name: String) -> [Entry] { byName[name] ?? [] }

    func entry(_ name: String) -> Entry? { byName[name]?.last }

    /// `Unit.KEY=`, by the names of the keys, those of one key in their order.
    var unitKeys: [Entry] {
        byName.filter { UnitKeyTable.isKey($0.key) }.sorted { $0.key < $1.key }.flatMap(\.value)
    }

    func has(_ name: String) -> Bool { byName[name] != nil }

    /// The names of a list, no more than may be; `Checker` tells about more.
    func names(_ key: String) -> [(name: Value.Name, entry: Entry)] {
        let names = list(key).lazy.flatMap { entry in (entry.value?.names ?? []).lazy.map { ($0, entry) } }
        return names.prefix(WatchFile.maximumNames).map { ($0, $1) }
    }

    /// As `names`, of a list of names with counts.
    func counts(_ key: String) -> [Value.Count] {
        Array(list(key).lazy.flatMap { ($0.value?.counts ?? []).lazy }.prefix(WatchFile.maximumNames))
    }

    /// A single value; `nil` where there is none, or none that could be read.
    subscript(name: String) -> Value? { entry(name)?.value }

    /// The first of these keys that stands here.
    func first(of names: [String]) -> Entry? { names.lazy.compactMap { entry($0) }.first }
}
