/// A section as it stands in one file.
struct SectionText {
    let kind: SectionKind
    /// Empty: the defaults of the kind, or `[Watchd]`. `nil`: it was refused.
    let name: String?
    /// `[Kind name]`.
    let header: SourceText
    /// The file that it belongs to: for a drop-in the one that it extends.
    let owner: String
    let isDropIn: Bool
    var entries: [Entry] = []
}
