import Testing
import WatchFile

@Suite("Sections as they are in force") struct SectionListingTests {
    private let files = [
        WatchFileText(
            file: "a.watch",
            bytes: Array(
                """
                [Handler]
                TimeoutSec=5min
                [Path]
                Queue=images
                [Path up]
                Path=/srv/up
                Path=/srv/two
                Key=%p
                Exec=/bin/true
                [Queue images]
                Width=2
                Type=concurrent
                """.utf8)),
        WatchFileText(
            file: "a.watch.d/b.watch", bytes: Array("[Path up]\nPath=\nPath=/srv/new\nQueue=default\n".utf8),
            dropInOf: "a.watch"),
    ]

    private func list(withDefaults: Bool = false) -> [SectionListing] {
        WatchFile.list(files, context: LoadContext(processors: 1), withDefaults: withDefaults)
    }

    @Test func dropInsReplaceExtendAndClear() throws {
        #expect(list().map(\.name) == ["path/up", "queue/images"])
        let path = try #require(list().first)
        #expect(path.title == "[Path up]")
        #expect(path.location == SourceLocation(file: "a.watch", line: 5))
        let keys = path.keys.map { "\($0.name)=\($0.value) \($0.location?.file ?? ""):\($0.location?.line ?? 0)" }
        #expect(
            keys == [
                "TimeoutSec=5min a.watch:2", "Key=%p a.watch:8", "Exec=/bin/true a.watch:9",
                "Path=/srv/new a.watch.d/b.watch:3", "Queue=default a.watch.d/b.watch:4",
            ])
    }

    @Test func withDefaultsTheKeysThatNobodyWroteAreThere() throws {
        let sections = list(withDefaults: true)
        let path = try #require(sections.first)
        #expect(path.keys.contains { $0.name == "Events" && $0.value == "written" && $0.location == nil })
        #expect(path.keys.contains { $0.name == "KillSignal" && $0.value == "SIGTERM" && $0.location == nil })
        #expect(path.keys.count { $0.name == "TimeoutSec" } == 1)
        let queue = try #require(sections.last)
        #expect(queue.keys.contains { $0.name == "Backlog" && $0.value == "10000" && $0.location == nil })
        #expect(!queue.keys.contains { $0.name == "KillSignal" })
    }
}
