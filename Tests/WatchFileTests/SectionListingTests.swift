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

    /// The default depends on the sources.
    @Test func withDefaultsTheQueueAndTheOverlapInForceAreThere() {
        let text = """
            [Timer solo]
            EverySec=3s
            Exec=/bin/true
            [Timer each]
            EverySec=3s
            CatchUp=all
            Exec=/bin/true
            [Timer loose]
            EverySec=3s
            Key=none
            Exec=/bin/true
            [Custom poke]
            Queue=images
            Handler=both needed
            [Timer other]
            EverySec=3s
            Handler=both
            [Custom own]
            Exec=/bin/true
            Overlap=skip
            [Handler both]
            Exec=/bin/true
            Requires=needed
            [Handler needed]
            Queue=images
            Exec=/bin/true
            [Queue images]
            """
        let file = WatchFileText(file: "a.watch", bytes: Array(text.utf8))
        func defaults(_ name: String) -> [String: [String]] {
            let sections = WatchFile.list([file], context: LoadContext(processors: 1), withDefaults: true)
            let keys = sections.flatMap { section in
                section.keys.filter { $0.name == name && $0.location == nil }.map { (section.name, $0.value) }
            }
            return Dictionary(grouping: keys, by: \.0).mapValues { $0.map(\.1) }
        }
        #expect(
            defaults("Overlap") == [
                "timer/solo": ["skip"], "timer/each": ["wait"], "timer/loose": ["parallel"],
                "handler/both": ["wait, skip"], "handler/needed": ["wait, skip"],
            ])
        #expect(
            defaults("Queue") == [
                "timer/solo": ["default"], "timer/each": ["default"], "timer/loose": ["default"],
                "timer/other": ["default"], "custom/own": ["default"], "handler/both": ["default"],
            ])
        let plain = WatchFile.list([file], context: LoadContext(processors: 1), withDefaults: false)
        #expect(plain.first?.keys.map(\.name) == ["EverySec", "Exec"])
    }
}
