import Schedule
import Testing
import WatchFile

@Suite("Several files")
struct DropInTests {
    private func load(_ files: (name: String, text: String, base: String?)...) -> LoadResult {
        WatchFile.load(
            files.map { WatchFileText(file: $0.name, bytes: Array($0.text.utf8), dropInOf: $0.base) },
            context: LoadContext(processors: 2))
    }

    private func sentences(_ result: LoadResult) -> [String] {
        result.diagnostics.filter { !$0.message.hasPrefix("nothing starts ") }
            .map { "\($0.location.file):\($0.location.line ?? 0): \($0.sentence)" }
    }

    @Test func aDropInReplacesSingleValuesAndExtendsLists() throws {
        let result = load(
            ("a.watch", "[Handler x]\nExec=/bin/a\nTimeoutSec=1s\nKillMode=process\nEnvironment=A=1 B=2\n", nil),
            ("a.watch.d/1.watch", "[Handler x]\nTimeoutSec=2s\nKillMode=\nEnvironment=C=3\n", "a.watch"),
            ("a.watch.d/2.watch", "[Handler x]\nExec=\nExec=/bin/b\nEnvironment=D=4\n", "a.watch"))
        #expect(sentences(result) == [])
        let handler = try #require(result.configuration?.handlers.first)
        #expect(handler.action == .exec([Command(words: [.template(Template(literal: "/bin/b"))])]))
        #expect(handler.timeout == .seconds(2))
        #expect(handler.killMode == .tree)
        #expect(handler.environment.map(\.name) == ["A", "B", "C", "D"])
        #expect(result.configuration?.locations["handler/x"] == SourceLocation(file: "a.watch", line: 1))
    }

    @Test func aDropInAddsMembersAndUnitsAndTakesOutATarget() throws {
        let result = load(
            (
                "a.watch",
                "[Queue q]\nTarget=q\nQoS=utility\n[Semaphore s]\nValue=1\n[Group g]\nMembers=x\nLog=x\n"
                    + "[Handler x]\nLog=x\nAcquire=s\nAfter=x\n[Handler y]\nLog=x\n", nil
            ),
            (
                "a.watch.d/1.watch",
                "[Queue q]\nTarget=\nQoS=background\n[Semaphore s]\nValue=3\n[Group g]\nMembers=y\n"
                    + "[Handler x]\nAcquire=s:2\nAfter=\nAfter=y\n", "a.watch"
            ))
        #expect(sentences(result) == [])
        let configuration = try #require(result.configuration)
        #expect(configuration.queues.last?.target == nil)
        #expect(configuration.queues.last?.qos == .background)
        #expect(configuration.semaphores == [SemaphoreDefinition(name: "s", value: 3)])
        #expect(configuration.sources.first?.trigger == .group(GroupTrigger(members: ["x", "y"])))
        let constraints = try #require(configuration.handlers.first { $0.name == "x" }?.constraints)
        #expect(constraints.acquires == [SemaphoreCount(name: "s", count: 3)])
        #expect(constraints.after == ["y"])
    }

    @Test func aDropInThatClosesACycleIsTheOnePointedAt() {
        let result = load(
            ("a.watch", "[Handler x]\nLog=x\nAfter=y\n[Handler y]\nLog=x\n", nil),
            ("a.watch.d/1.watch", "[Handler y]\nRequires=x\n", "a.watch"))
        #expect(sentences(result) == ["a.watch.d/1.watch:2: these wait for each other: x → y → x"])
    }

    @Test func aDropInMayComeBeforeItsFileAndBringNewSections() throws {
        let result = load(
            ("a.watch.d/1.watch", "[Handler x]\nLog=b\n[Handler y]\nLog=c", "a.watch"),
            ("a.watch", "[Handler x]\nLog=a\n", nil))
        #expect(sentences(result) == [])
        let handlers = try #require(result.configuration?.handlers)
        #expect(handlers.map(\.name) == ["x", "y"])
        #expect(handlers.first?.action == .log(Template(literal: "b")))
    }

    @Test func whatADropInReplacesMustBeRightToo() {
        let result = load(
            ("a.watch", "[Handler x]\nLog=a\nTimeoutSec=5x\nOnFailure=nobody\n", nil),
            ("a.watch.d/1.watch", "[Handler x]\nTimeoutSec=2s\nOnFailure=\n", "a.watch"))
        #expect(
            sentences(result) == [
                "a.watch:3: TimeoutSec=5x is not a time span: unknown unit", "a.watch:4: there is no handler nobody",
            ])
    }

    @Test func theSameSectionInTwoOtherFilesIsAnErrorThatNamesBoth() {
        let result = load(
            ("a.watch", "[Handler x]\nLog=a\n", nil), ("b.watch", "\n[Handler x]\nLog=b\n", nil),
            ("c.watch", "", nil), ("c.watch.d/1.watch", "[Handler x]\nLog=c\n", "c.watch"),
            ("a.watch.d/1.watch", "[Handler x]\nLog=c\n[Handler x]\nLog=d", "a.watch"))
        #expect(
            sentences(result) == [
                "b.watch:2: [Handler x] stands in a.watch:1 already",
                "c.watch.d/1.watch:1: [Handler x] stands in a.watch:1 already",
                "a.watch.d/1.watch:3: [Handler x] stands in this file already, on line 1",
            ])
    }

    @Test func aDropInOfNothingAndAFileGivenTwiceAreErrors() {
        let result = load(("a.watch", "", nil), ("a.watch", "", nil), ("b.watch.d/1.watch", "", "b.watch"))
        #expect(
            result.diagnostics.map { $0.rendered() } == [
                "a.watch: error: the file is given twice",
                "b.watch.d/1.watch: error: extends b.watch, which is not loaded",
            ])
        #expect(result.configuration == nil)
    }

    @Test func namesResolveAcrossFilesAndDefaultsHoldForAll() throws {
        let result = load(
            ("a.watch", "[Timer t]\nEverySec=1h\nHandler=h\n[Handler]\nTimeoutSec=7s\nEnvironment=A=1\n", nil),
            ("b.watch", "[Handler h]\nExec=/x\nEnvironment=B=2\nQueue=low\n[Timer u]\nEverySec=1h\nLog=y\n", nil),
            ("c.watch", "[Timer]\nQueue=main\nTimeoutSec=8s\n[Queue]\nBacklog=5\n[Queue q]\nWidth=\n", nil))
        #expect(sentences(result) == [])
        let configuration = try #require(result.configuration)
        let handlers = configuration.handlers
        #expect(handlers.map(\.name) == ["h", "u"])
        #expect(handlers.map(\.timeout) == [.seconds(7), .seconds(8)])
        #expect(handlers[0].environment.map(\.name) == ["A", "B"])
        #expect(handlers.map(\.queue) == ["utility", "main"])
        #expect(
            configuration.sources.flatMap(\.routes) == [
                Route(handler: "h", queue: "main"), Route(handler: "u", queue: "main"),
            ])
        #expect(configuration.queues.allSatisfy { $0.backlog == 5 })
        #expect(configuration.queues.map(\.name) == QueueDefinition.builtInNames + ["q"])
    }

    @Test func diagnosticsComeInTheOrderOfTheFiles() {
        let result = load(("z.watch", "[Handler x]\n", nil), ("a.watch", "oops\n[Handler y]\nLog=%q", nil))
        #expect(
            result.diagnostics.map { "\($0.location.file):\($0.location.line ?? 0)" } == [
                "z.watch:1", "a.watch:1", "a.watch:3",
            ])
    }
}
