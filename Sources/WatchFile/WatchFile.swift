/// Watch files: text → lines → sections of typed entries → one checked `Configuration`.
///
/// Each step goes on after a mistake, so that all mistakes are told at once, each at its place:
///
/// - `LineReader` joins continued lines and drops comments; a `SourceText` remembers where each of its bytes stands.
/// - `SectionReader` turns lines into sections; each key is looked up in `KeyTable`, and its value read by the type
///   that stands there (`ValueReader`).
/// - `SectionMerger` lays drop-ins over their files.
/// - `Checker` fills in defaults, resolves names and refuses what makes no sense together.
///
/// `Configuration` knows nothing of the text but the place of each section.
package enum WatchFile {
    /// Bytes of one file.
    package static let maximumBytes = 1 << 20
    /// Sections of all files together.
    package static let maximumSections = 10_000
    /// Names that one section may give to one of its lists, such as `OnFailure=`; defaults count in every section.
    package static let maximumNames = 256
    /// Errors and warnings that are told; more are only counted.
    package static let maximumDiagnostics = 1000

    /// Reads the texts, in this order, as one configuration. Pure; never fails but by diagnostics.
    package static func load(_ texts: [WatchFileText], context: LoadContext) -> LoadResult {
        var problems = Problems()
        let sections = readSections(of: texts, context: context, problems: &problems)
        let merged = SectionMerger.merge(sections, problems: &problems)
        var checker = Checker(merged, context: context, problems: problems)
        let configuration = checker.check()
        return LoadResult(
            configuration: checker.problems.hasError ? nil : configuration, diagnostics: checker.problems.sorted,
            stateDirectory: configuration.settings.stateDirectory)
    }

    /// Whether its first line that says something is the header of a section, `[Kind name]`, of a kind that is known.
    package static func beginsAsOne(_ bytes: [UInt8]) -> Bool {
        let lines = bytes.split(separator: UInt8(ascii: "\n")).lazy.map { $0.drop { $0.isWhiteSpace } }
        let first = lines.first { line in line.first.map { !"#;".utf8.contains($0) } ?? false }
        guard let first, first.first == UInt8(ascii: "["), let end = first.firstIndex(of: UInt8(ascii: "]")) else {
            return false
        }
        let kind = first[..<end].dropFirst().prefix { !$0.isWhiteSpace }
        return SectionKind(rawValue: String(decoding: kind, as: UTF8.self)) != nil
    }

    static func readSections(
        of texts: [WatchFileText], context: LoadContext, problems: inout Problems
    ) -> [SectionText] {
        var sections: [SectionText] = []
        var bases: Set<String> = []
        for (index, text) in texts.enumerated() where text.dropInOf == nil && !bases.insert(text.file).inserted {
            problems.error("the file is given twice", in: text.file, index: index)
        }
        for (index, text) in texts.enumerated() {
            if let base = text.dropInOf, !bases.contains(base) {
                problems.error("extends \(base), which is not loaded", in: text.file, index: index)
            }
            guard text.bytes.count <= maximumBytes else {
                problems.error("larger than \(maximumBytes >> 20) MiB", in: text.file, index: index)
                continue
            }
            let file = SourceFile(name: text.file, bytes: text.bytes, index: index)
            var reader = SectionReader(
                file: file, dropInOf: text.dropInOf, budget: maximumSections - sections.count, context: context)
            reader.read(into: &problems)
            sections += reader.sections
        }
        return sections
    }
}
