/// A section with what its drop-ins add.
struct Section {
    let kind: SectionKind
    let name: String
    /// Where it begins in the file that it belongs to.
    let header: SourceText
    let owner: String
    /// In order: the file's own, then those of the drop-ins.
    var entries: [Entry]

    /// `path/uploads`.
    var fullName: String { name.isEmpty ? kind.prefix : "\(kind.prefix)/\(name)" }
    /// `[Path uploads]`.
    var title: String { name.isEmpty ? "[\(kind.rawValue)]" : "[\(kind.rawValue) \(name)]" }

    /// Values for all sections of the kind.
    var isDefaults: Bool { name.isEmpty && kind != .watchd }
}
