import FoundationEssentials
import Testing

@testable import WatchFile

/// `config/man/watchd.watch.5` beside `KeyTable`: sections, keys, defaults.
@Suite("Manual page of watch files")
struct ManualTests {
    /// A key as the page shows it: `.It Ic Key= Ns Ar VALUE Pq Cm DEFAULT`.
    private struct Item: Hashable {
        var key: String
        var usual: String?
    }

    /// Items below each heading, and keys that are named in its text.
    private struct Section {
        var items: [Item] = []
        /// By the item that they stand below.
        var named: [String: [String]] = [:]
    }

    private static let page = sections(text("watchd.watch.5"))

    private static func text(_ page: String) -> String {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("config/man/\(page)")
        return (try? Data(contentsOf: file)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private static func sections(_ text: String) -> [String: Section] {
        var result: [String: Section] = [:]
        var (heading, item) = ("", "")
        for line in text.split(separator: "\n") {
            if line.hasPrefix(".Sh ") {
                heading = String(line.dropFirst(4))
                result[heading] = Section()
            } else if line.hasPrefix(".It Ic "), let word = line.split(separator: " ").dropFirst(2).first {
                item = String(word)
                if item.hasSuffix("=") { result[heading]?.items.append(Self.item(line, key: item)) }
            } else if line.hasPrefix(".Ic "), let word = line.split(separator: " ").dropFirst().first {
                result[heading]?.named[item, default: []].append(String(word.prefix { $0 != "=" }))
            }
        }
        return result
    }

    /// A default in words, without `Cm`, depends on something else.
    private static func item(_ line: Substring, key: String) -> Item {
        let usual = line.split(separator: " Pq Cm ").dropFirst().first.map(String.init)
        return Item(key: String(key.dropLast()), usual: usual)
    }

    private static func heading(_ kind: SectionKind) -> String {
        "THE SECTION [\(kind.rawValue)\(kind == .watchd ? "" : " NAME")]"
    }

    private static func keys(_ kind: SectionKind) -> [Key] {
        kind == .handler ? KeyTable.actions + KeyTable.handler : KeyTable.own(kind)
    }

    @Test(arguments: SectionKind.allCases)
    func everyKeyOfASectionStandsThereWithItsDefault(kind: SectionKind) throws {
        let section = try #require(Self.page[Self.heading(kind)], "the page has a section for [\(kind.rawValue)]")
        Self.expect(section, shows: Self.keys(kind))
    }

    @Test func everyKeyOfAllSourcesStandsThereOnce() throws {
        Self.expect(try #require(Self.page["KEYS OF EVERY SOURCE"]), shows: KeyTable.source)
    }

    private static func expect(_ section: Section, shows keys: [Key]) {
        let items = keys.filter(\.isSupported).map { Item(key: $0.name, usual: $0.usual) }
        for item in section.items { #expect(items.contains(item), "the table has no \(item)") }
        for item in items { #expect(section.items.contains(item), "the page has no \(item)") }
        #expect(section.items.count == items.count, "each stands there once")
    }

    @Test(arguments: SectionKind.allCases)
    func everyKeyThatIsRefusedIsNamedInOnePlace(kind: SectionKind) {
        let section = Self.page["KEYS OF LATER VERSIONS"]
        let refused = Self.keys(kind).filter { !$0.isSupported }.map(\.name)
        #expect(Set(section?.named["[\(kind.rawValue)]"] ?? []) == Set(refused))
    }

    @Test func everySpecifierStandsInThePageOfHandlers() {
        let words = Set(
            Self.text("watchd.handler.7").split(separator: "\n").filter { $0.hasPrefix(".It ") }
                .flatMap { $0.split(separator: " ").map(String.init) })
        let letters = Specifier.byLetter.keys.map { "%\($0)" }
        for spelling in letters + Specifier.byName.keys.map({ "%{\($0)}" }) + ["%@", "%%", "%1"] {
            #expect(words.contains(spelling), "\(spelling)")
        }
        #expect(words.contains("%{\(Specifier.acquiredPrefix)NAME}"))
        let known = Set(Specifier.byName.keys.map { "%{\($0)}" } + ["%{\(Specifier.acquiredPrefix)NAME}"])
        for word in words where word.hasPrefix("%{") { #expect(known.contains(word), "\(word) is none") }
    }

    @Test func thereAreNoOtherSections() {
        let known = Set(SectionKind.allCases.map(Self.heading))
        let others = Self.page.keys.filter { $0.hasPrefix("THE SECTION") && !known.contains($0) }
        #expect(others.isEmpty)
    }

    @Test(arguments: SectionKind.allCases)
    func aDefaultIsTheValueOfAKeyThatIsNotWritten(kind: SectionKind) throws {
        for key in KeyTable.keys(of: kind) {
            guard let usual = key.usual else { continue }
            let text = KeyTableTests.section(kind, without: key.name)
            let line = "\(key.name)=\(usual)"
            let others = KeyTableTests.others(of: text + line)
            let without = try #require(load(text + others).configuration, "\(text)")
            let with = try #require(load(text + line + others).configuration, "\(line)")
            #expect(without.settings == with.settings, "[\(kind.rawValue)] \(line)")
            #expect(without.queues == with.queues, "[\(kind.rawValue)] \(line)")
            #expect(without.handlers == with.handlers, "[\(kind.rawValue)] \(line)")
            #expect(without.sources == with.sources, "[\(kind.rawValue)] \(line)")
        }
    }
}
