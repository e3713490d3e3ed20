import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Run by name")
struct RunCommandTests {
    private func fixture(backlog: Int = 9, overflow: QueueDefinition.Overflow = .block) -> EngineFixture {
        EngineFixture(
            .of(
                queues: [.serial("q", backlog: backlog, overflow: overflow)],
                handlers: [
                    .exec("uploads", queue: "q"), .exec("report", queue: "q"), .exec("skips", overlap: .skip),
                    .exec("g"),
                ],
                sources: [
                    .path("uploads", to: "uploads", on: "q"),
                    .timer("report", to: "report", on: "q", every: .seconds(3600)),
                    .timer("both", to: "report", "g", every: .seconds(3600)), .custom("twice", to: "g"),
                    .fifo("twice", to: "g"),
                ]))
    }

    private func run(
        _ fixture: EngineFixture, _ name: String, paths: [String] = [], lines: [String] = [], data: Int64? = nil,
        waits: Bool = false
    ) -> Token {
        fixture.command(
            .run(
                Engine.Command.RunCommand(
                    name: name, paths: paths.map { Array($0.utf8) }, lines: lines.map { Array($0.utf8) }, data: data,
                    waits: waits)))
    }

    private func error(_ fixture: EngineFixture, _ token: Token) -> CommandError? {
        if case .failure(let error) = fixture.reply(token) { error } else { nil }
    }

    private func ids(_ fixture: EngineFixture, _ token: Token) -> [UInt64]? {
        if case .operations(let ids) = fixture.reply(token) { ids } else { nil }
    }

    @Test func aSourceIsMeantBeforeTheHandlerOfItsAction() {
        let fixture = fixture()
        #expect(ids(fixture, run(fixture, "uploads", paths: ["/w/a", "/w/b"])) == [1])
        #expect(fixture.starts[0].origin == .source(SourceID(.path, "uploads")))
        #expect(fixture.story == ["uploads: written:a written:b"])
    }

    @Test func aHandlerThatIsAboutOnePathHasEachByItself() {
        let word = CommandWords.Word.template(Template(parts: [.specifier(.path)]))
        let fixture = EngineFixture(
            .of(
                handlers: [
                    .exec("h") { $0.action = .exec([Command(words: [.template(Template(literal: "/bin/x")), word])]) }
                ], sources: [.path("p", to: "h", key: .template(Template(parts: [.specifier(.path)])))]))
        #expect(ids(fixture, run(fixture, "handler/h", paths: ["/w/a", "/w/b"])) == [1, 2])
        fixture.endFirst()
        #expect(fixture.story == ["h: written:a", "h: written:b"])
    }

    @Test func aHandlerRunsOnItsOwnQueue() {
        let fixture = fixture()
        _ = run(fixture, "handler/report")
        #expect(fixture.story == ["report: data:1"])
        #expect(fixture.starts[0].origin == .run(handler: "report") && fixture.starts[0].queue == "q")
    }

    /// Neither is anything else started that the handler requires.
    @Test func aHandlerThatReadsADescriptorOfItsSourceIsNotStartedByHand() {
        let fixture = EngineFixture(
            .of(
                handlers: [
                    .exec("serve") {
                        $0.standardInput = .socket
                        $0.constraints.requires = ["ready"]
                    },
                    .exec("ready"),
                ], sources: [.custom("c", to: "serve")]))
        for name in ["serve", "custom/c"] {
            #expect(error(fixture, run(fixture, name)) == .needsDescriptor(handler: "serve"))
        }
        let failed = StoredOperation(
            id: 1, handler: "serve", queue: "default", origin: .source(SourceID(.custom, "c")), submitted: 0)
        #expect(error(fixture, fixture.command(.retry([failed]))) == .needsDescriptor(handler: "serve"))
        #expect(fixture.story.isEmpty && fixture.engine.operationViews.isEmpty)
        func obstacle(_ name: String, queue: String = "default") -> String? {
            fixture.engine.retryObstacle(handler: name, queue: queue)
        }
        #expect(obstacle("serve") == "the descriptor that it read is gone" && obstacle("ready") == nil)
        #expect(obstacle("gone") == "handler gone is in no watch file any more")
        #expect(obstacle("@command") == nil && obstacle("@command", queue: "gone") != nil)
    }

    @Test func aTimerRunsAsIfItHadElapsed() {
        let fixture = fixture()
        _ = run(fixture, "timer/report")
        _ = run(fixture, "report", data: 7)
        #expect(fixture.story == ["report: timer"])
        #expect(fixture.counters(handler: "report")?[.skipped] == 1)
    }

    @Test func pathsLinesAndDataAreToldToTheHandler() {
        let fixture = fixture()
        _ = run(fixture, "g", data: -3)
        _ = run(fixture, "g", paths: ["/w/a"], lines: ["l"])
        fixture.endAll()
        #expect(fixture.story == ["g: data:-3", "g: written:a line:l"])
    }

    @Test func aSourceWhoseEventsHaveNoPathsTakesNone() {
        let fixture = fixture()
        #expect(error(fixture, run(fixture, "timer/report", paths: ["/w/a"])) == .takesNoPaths("timer/report"))
        #expect(fixture.story.isEmpty)
    }

    @Test func aLineIsAsItsDescriptorWouldTellIt() {
        var trigger = DescriptorTrigger(listener: .fifo(Array("/run/de".utf8)), framing: .line)
        (trigger.include, trigger.exclude) = ([Array("^x(.*)$".utf8)], [Array("no".utf8)])
        var source = SourceDefinition.fifo("de", to: "h")
        source.trigger = .descriptor(trigger)
        let fixture = EngineFixture(.of(handlers: [.exec("h")], sources: [source]))
        #expect(ids(fixture, run(fixture, "descriptor/de", lines: ["xabc"])) == [1])
        guard case .line(let fact) = fixture.starts.first?.events.first?.fact else {
            Issue.record("no line")
            return
        }
        #expect(fact == LineFact(Array("xabc".utf8), captures: [Array("abc".utf8)]))
        for (line, reason) in [("yabc", "no Include= matches it"), ("xno", "Exclude= matches it")] {
            #expect(
                error(fixture, run(fixture, "de", lines: ["xabc", line]))
                    == .refused("de refuses the line “\(line)”: \(reason)"))
        }
        #expect(fixture.starts.count == 1)
        #expect(ids(fixture, run(fixture, "handler/h", lines: ["yabc"])) != nil, "it has no filter of its own")
    }

    /// `rm -rf /srv/%f` is another command without a path.
    @Test(arguments: [
        (Specifier.lastComponent, "%f", "PATH"), (.folder, "%{folder}", "PATH"), (.capture(2), "%2", "--line TEXT"),
    ])
    func aHandlerOfAPathOrALineNeedsOne(_ specifier: Specifier, _ spelling: String, _ operand: String) {
        let word = Template(parts: [.literal(Array("/srv/".utf8)), .specifier(specifier)])
        let wipe = HandlerDefinition(name: "wipe", action: .exec([CommandWords(words: [.template(word)])]))
        let fixture = EngineFixture(
            .of(handlers: [wipe, .exec("g")], sources: [.path("uploads", to: "g", "wipe"), .path("whole", to: "g")]))
        for name in ["wipe", "path/uploads"] {
            let sentence = "“wipe” uses \(spelling), which would stand for nothing: watchctl run \(name) \(operand)"
            #expect(error(fixture, run(fixture, name)) == .refused(sentence))
        }
        #expect(fixture.story.isEmpty)
        #expect(ids(fixture, run(fixture, "wipe", paths: ["/w/a"])) == [1])
        #expect(ids(fixture, run(fixture, "wipe", data: 1)) != nil, "as a client emits it")
        #expect(ids(fixture, run(fixture, "path/whole")) != nil)
    }

    @Test func namesMustBeClear() {
        let fixture = fixture()
        #expect(
            error(fixture, run(fixture, "twice"))
                == .ambiguousName("twice", candidates: ["custom/twice", "descriptor/twice"]))
        #expect(error(fixture, run(fixture, "uplaods")) == .noSuchName("uplaods", nearest: "uploads"))
        #expect(error(fixture, run(fixture, "path/uplaods")) == .noSuchName("path/uplaods", nearest: "path/uploads"))
        #expect(error(fixture, run(fixture, "q")) == .noSuchName("q", nearest: nil))
        #expect(error(fixture, run(fixture, "")) == .noSuchName("", nearest: nil))
        #expect(error(fixture, run(fixture, "a/b/c")) == .noSuchName("a/b/c", nearest: nil))
        #expect(ids(fixture, run(fixture, "custom/twice")) != nil)
    }

    @Test func theCallerMayWaitForTheEnd() {
        let fixture = fixture()
        let token = run(fixture, "g", waits: true)
        #expect(fixture.reply(token) == nil)
        fixture.endFirst(.exited(4))
        guard case .ran(let view) = fixture.reply(token) else {
            Issue.record("no answer")
            return
        }
        #expect(view.id == 1 && view.result == .failed && view.exit == .exited(4))
    }

    @Test func ofSeveralOperationsTheWorstIsTold() {
        let fixture = fixture()
        let token = run(fixture, "both", waits: true)
        #expect(fixture.running == ["report: timer", "g: timer"])
        fixture.endFirst(.exited(1))
        #expect(fixture.reply(token) == nil)
        fixture.endFirst()
        guard case .ran(let view) = fixture.reply(token) else {
            Issue.record("no answer")
            return
        }
        #expect(view.handler == "report" && view.result == .failed)
    }

    @Test func whoWaitsForAnOperationThatJoinsAnotherIsAnsweredByThat() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q", isSuspended: true)], handlers: [.exec("h")],
                sources: [.path("p", to: "h", on: "q", key: .perPath)]))
        for path in ["/w/a", "/w/b"] { fixture.path("p", .written, path) }
        let tokens = [1, 2, 1, 2].map { fixture.wait(.operation($0)) }
        fixture.path("p", .renamed, "/w/b", from: "/w/a", replaced: true)
        #expect(tokens.allSatisfy { fixture.reply($0) == nil })
        fixture.command(.resume(name: "q"))
        fixture.endAll()
        #expect(fixture.story.count == 1)
        for token in tokens {
            guard case .waited(let view?) = fixture.reply(token) else {
                Issue.record("no answer")
                continue
            }
            #expect(view.id == 1 && view.result == .done)
        }
    }

    @Test func whatThePoliciesRefuseIsSaid() {
        let fixture = fixture()
        _ = run(fixture, "skips")
        guard case .refused(.skipped, let reason) = fixture.reply(run(fixture, "skips", waits: true)) else {
            Issue.record("not refused")
            return
        }
        #expect(reason == "Overlap=skip: 1 still runs")
    }

    @Test func aFullQueueTakesNoRun() {
        let fixture = fixture(backlog: 2)
        _ = run(fixture, "uploads", paths: ["/w/a"])
        #expect(
            error(fixture, run(fixture, "uploads", paths: ["/w/b", "/w/c", "/w/d"]))
                == .queueFull(queue: "q", backlog: 2))
        #expect(ids(fixture, run(fixture, "uploads", paths: ["/w/b", "/w/a", "/w/b"])) != nil)
        #expect(error(fixture, run(fixture, "uploads", paths: ["/w/c"])) == .queueFull(queue: "q", backlog: 2))
        #expect(error(fixture, run(fixture, "uploads", paths: ["/w/a"])) == .queueFull(queue: "q", backlog: 2))
        let dropping = self.fixture(backlog: 1, overflow: .dropNewest)
        for _ in 0..<2 { _ = run(dropping, "uploads", paths: ["/w/a"]) }
        guard case .refused(.dropped, _) = dropping.reply(run(dropping, "uploads", paths: ["/w/b"])) else {
            Issue.record("not refused")
            return
        }
    }

    @Test func aRunMayBeStartedWhileItsSourceIsSuspended() {
        let fixture = fixture()
        fixture.command(.suspend(name: "path/uploads", by: "me", reason: nil, until: nil))
        _ = run(fixture, "uploads", paths: ["/w/a"])
        #expect(fixture.story == ["uploads: written:a"])
    }
}
