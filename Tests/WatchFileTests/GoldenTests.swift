import FoundationEssentials
import Testing
import WatchFile

/// `Diagnostics/NAME.watch` is loaded, and what it says must be `Diagnostics/NAME.expected`, byte for byte.
@Suite("Diagnostics, as printed")
struct GoldenTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Diagnostics")

    static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".watch") }.map { String($0.dropLast(6)) }.sorted()
    }()

    @Test(arguments: names)
    func aFileSaysExactlyWhatIsExpected(name: String) throws {
        let bytes = try Data(contentsOf: Self.folder.appendingPathComponent("\(name).watch"))
        let expected = try Data(contentsOf: Self.folder.appendingPathComponent("\(name).expected"))
        let result = WatchFile.load(
            [WatchFileText(file: "\(name).watch", bytes: Array(bytes))], context: LoadContext(processors: 4))
        let actual = result.diagnostics.map { $0.rendered() + "\n" }.joined()
        #expect(actual == String(decoding: expected, as: UTF8.self))
        #expect((result.configuration == nil) == result.diagnostics.contains { $0.severity == .error })
    }

    @Test func theFilesAreFound() {
        #expect(Self.names.count > 15)
    }
}
