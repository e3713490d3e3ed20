import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Reload")
struct ReloadTests {
    private let base = Configuration.of(
        queues: [.serial("q"), .concurrent("w", width: 2)], handlers: [.exec("h"), .exec("g")],
        sources: [
            .fifo("f", to: "h", on: "q"), .path("p", to: "g", on: "w", key: .perPath), .custom("x", to: "h", on: "q"),
        ])

    private func change(_ fixture: EngineFixture, _ token: Token) -> ConfigurationChange {
        fixture.reloads[token] ?? ConfigurationChange()
    }

    @Test func theDaemonsOwnSectionIsAmongWhatHasChanged() {
        let fixture = EngineFixture(base)
        var new = base
        new.settings.onProblem = ["h"]
        #expect(fixture.engine.plan(new).changed == ["watchd"])
        #expect(change(fixture, fixture.reload(new)).changed == ["watchd"])
        #expect(change(fixture, fixture.reload(new)).changed == [])
    }

    @Test func whatHasNotChangedGoesOnUntouched() {
        let fixture = EngineFixture(base)
        fixture.line("f", "1")
        fixture.line("f", "2")
        let before = fixture.actions.count
        let change = change(fixture, fixture.reload(base))
        #expect(change == ConfigurationChange())
        #expect(fixture.actions.count == before + 1, "nothing but the answer")
        fixture.endAll()
        #expect(fixture.story == ["h: line:1", "h: line:2"])
    }

    @Test func whatIsNewChangedAndGoneIsNamed() {
        let fixture = EngineFixture(base)
        var new = base
        new.queues.removeLast()
        new.queues.append(.serial("v"))
        new.handlers = [.exec("h") { $0.timeout = .seconds(5) }, .exec("i")]
        new.sources = [.fifo("f", to: "i", on: "q"), .custom("x", to: "h", on: "q"), .signal("s", to: "h")]
        let change = change(fixture, fixture.reload(new))
        #expect(change.added == ["queue/v", "handler/i", "signal/s"])
        #expect(change.changed == ["handler/h", "descriptor/f"])
        #expect(change.removed == ["path/p", "queue/w", "handler/g"])
        #expect(fixture.open == [SourceID(.descriptor, "f"), SourceID(.signal, "s")])
    }

    @Test func onlyAChangedTriggerIsOpenedAnew() {
        let fixture = EngineFixture(base)
        var new = base
        new.sources[0].summary = "other"
        new.sources[1].trigger = .path(PathTrigger(paths: [Array("/other".utf8)]))
        let before = fixture.actions.count
        fixture.reload(new)
        let names = fixture.actions[before...].compactMap { action in
            switch action {
            case .open(let definition): "open \(definition.id)"
            case .close(let id): "close \(id)"
            default: nil
            }
        }
        #expect(names == ["close path/p", "open path/p"])
    }

    @Test func aSourceThatIsHeldWhenItIsOpenedAnewIsHeldAtOnce() {
        func configuration(_ path: String, _ events: PathEvents, isSuspended: Bool = true) -> Configuration {
            var new = Configuration.of(
                queues: [.serial("q", backlog: 2, isSuspended: isSuspended)], handlers: [.exec("h")],
                sources: [.fifo("f", to: "h", on: "q"), .path("p", to: "h", on: "q", key: .perPath)])
            let fifo = DescriptorTrigger(listener: .fifo(Array(path.utf8)), framing: .line)
            new.sources[0].trigger = .descriptor(fifo)
            new.sources[1].trigger = .path(PathTrigger(paths: [Array("/w".utf8)], events: events))
            return new
        }
        let fixture = EngineFixture(configuration("/old", .written))
        for name in 1...4 { fixture.path("p", .written, "/w/\(name)") }
        fixture.line("f", "1")
        let ids = [SourceID(.descriptor, "f"), SourceID(.path, "p")]
        #expect(fixture.held == Set(ids))
        let before = fixture.actions.count
        fixture.reload(configuration("/new", .deleted))
        let names = fixture.actions[before...].compactMap { action in
            switch action {
            case .open(let definition): "open \(definition.id)"
            case .close(let id): "close \(id)"
            case .hold(let id): "hold \(id)"
            default: nil
            }
        }
        #expect(names == ids.flatMap { ["close \($0)", "open \($0)", "hold \($0)"] })
        fixture.reload(configuration("/new", .deleted, isSuspended: false))
        fixture.endAll()
        #expect(fixture.held.isEmpty)
    }

    @Test func whatWaitsTakesTheNewHandlerAndWhatRunsKeepsTheOld() {
        let fixture = EngineFixture(base)
        fixture.line("f", "1")
        fixture.line("f", "2")
        var new = base
        new.handlers[0].timeout = .seconds(9)
        new.handlers[0].successExitStatus.codes = [7]
        fixture.reload(new)
        fixture.endFirst(.exited(7))
        fixture.endFirst(.exited(7))
        #expect(fixture.results == ["h failed", "h done"])
        #expect(fixture.starts.map(\.definition.value.timeout) == [.infinity, .seconds(9)])
    }

    @Test func whatIsRemovedEndsFirst() {
        let fixture = EngineFixture(base)
        fixture.line("f", "1")
        fixture.line("f", "2")
        fixture.path("p", .written, "/w/a")
        var new = base
        new.queues.removeAll { $0.name == "q" }
        new.handlers = [.exec("g")]
        new.sources = [.path("p", to: "g", on: "w", key: .perPath)]
        fixture.reload(new)
        fixture.line("f", "late")
        #expect(fixture.engine.sourceViews.first?.isRemoved == true)
        #expect(fixture.engine.queueViews.filter(\.isRemoved).map(\.definition.name) == ["q"])
        fixture.endAll()
        #expect(fixture.story == ["h: line:1", "g: written:a", "h: line:2"])
        #expect(
            !fixture.engine.sourceViews.contains { $0.isRemoved }
                && !fixture.engine.handlerViews.contains { $0.isRemoved })
        #expect(fixture.engine.totals[.done] == 3)
    }

    @Test func whatComesBackBeforeItIsGoneIsTheSame() {
        let fixture = EngineFixture(base)
        fixture.line("f", "1")
        fixture.line("f", "2")
        fixture.reload(.of())
        let change = change(fixture, fixture.reload(base))
        #expect(
            change.added.contains("descriptor/f") && change.added.contains("handler/h")
                && change.added.contains("queue/q"))
        fixture.line("f", "3")
        fixture.endAll()
        #expect(fixture.story == ["h: line:1", "h: line:2", "h: line:3"])
        #expect(fixture.counters(source: "descriptor/f")?[.done] == 3)
    }

    @Test func aPlaceThatIsUsedAgainBelongsToTheNewOne() {
        let fixture = EngineFixture(base)
        for round in 0..<20 {
            fixture.line("f", "\(round)")
            fixture.emit("x")
            fixture.path("p", .written, "/w/a")
            let names = (0..<3).map { "h\(round)-\($0)" }
            fixture.reload(
                .of(
                    queues: names.map { .serial($0) }, handlers: names.map { .exec($0, queue: $0) },
                    sources: names.map { .fifo($0, to: $0, on: $0) }))
            for name in names { fixture.line(name, name) }
            fixture.reload(base)
            fixture.endAll()
        }
        #expect(fixture.engine.operations.count == 0 && fixture.engine.keys.count == 0)
        #expect(
            fixture.engine.sources.count < 20 && fixture.engine.handlers.count < 20 && fixture.engine.queues.count < 20)
    }

    @Test func namesOfHandlersThatAreGoneAreForgotten() {
        let fixture = EngineFixture(base)
        for round in 0..<10 {
            let handler = HandlerDefinition.exec("h\(round)", queue: "q") { $0.completions.finished = ["h\(round)"] }
            fixture.reload(.of(queues: [.serial("q")], handlers: [handler]))
            fixture.command(.run(Engine.Command.RunCommand(name: "h\(round)")))
            fixture.endAll()
        }
        fixture.reload(.of())
        #expect(fixture.engine.sources.indices.isEmpty && fixture.engine.handlers.indices.isEmpty)
    }

    @Test func theCountsOfWhatIsGoneStayInTheTotals() {
        let fixture = EngineFixture(base)
        fixture.line("f", "1")
        fixture.endAll()
        fixture.send(.gap(SourceID(.descriptor, "f"), 3))
        fixture.send(.filtered(SourceID(.path, "p"), 5))
        #expect(fixture.counters(source: "path/p")?.filtered == 5)
        fixture.reload(.of())
        let totals = fixture.engine.totals
        #expect(totals.accepted == 1 && totals[.done] == 1 && totals.gap == 3 && totals.filtered == 5)
    }

    // MARK: Queues

    @Test func concurrentToSerialWaitsUntilOneIsLeft() {
        let fixture = EngineFixture(
            .of(queues: [.concurrent("q", width: 3)], handlers: [.exec("h")], sources: [.fifo("f", to: "h", on: "q")]))
        for index in 1...5 { fixture.line("f", "\(index)") }
        fixture.reload(.of(queues: [.serial("q")], handlers: [.exec("h")], sources: [.fifo("f", to: "h", on: "q")]))
        #expect(fixture.running.count == 3)
        fixture.endFirst()
        fixture.endFirst()
        #expect(fixture.running == ["h: line:3"])
        fixture.endFirst()
        #expect(fixture.running == ["h: line:4"])
    }

    @Test func serialToConcurrentLetsOthersPassWhoWaitsForItsKey() {
        let sources: [SourceDefinition] = [.fifo("f", to: "h", on: "q", key: .perLine)]
        let fixture = EngineFixture(.of(queues: [.serial("q")], handlers: [.exec("h")], sources: sources))
        for text in ["a", "a", "b"] { fixture.line("f", text) }
        fixture.reload(.of(queues: [.concurrent("q", width: 5)], handlers: [.exec("h")], sources: sources))
        #expect(fixture.running == ["h: line:a", "h: line:b"])
        fixture.reload(.of(queues: [.serial("q")], handlers: [.exec("h")], sources: sources))
        fixture.endAll()
        #expect(fixture.story == ["h: line:a", "h: line:b", "h: line:a"])
    }

    @Test func aWiderQueueStartsMoreAtOnce() {
        let fixture = EngineFixture(base)
        for name in ["a", "b", "c", "d"] { fixture.path("p", .written, "/w/\(name)") }
        #expect(fixture.running.count == 2)
        var new = base
        new.queues[new.queues.count - 1].kind = .concurrent(width: 4)
        fixture.reload(new)
        #expect(fixture.running.count == 4)
    }

    @Test func aLargerBacklogLetsGoWhatWasHeldBack() {
        let small = Configuration.of(
            queues: [.serial("q", backlog: 1)], handlers: [.exec("h")], sources: [.fifo("f", to: "h", on: "q")])
        let fixture = EngineFixture(small)
        for index in 1...4 { fixture.line("f", "\(index)") }
        #expect(fixture.held.count == 1)
        var new = small
        new.queues[new.queues.count - 1].backlog = 100
        fixture.reload(new)
        #expect(fixture.held.isEmpty && fixture.counters(queue: "q")?[.pending] == 3)
    }

    @Test func whatIsHeldForARouteThatGoesIsNotLost() {
        let fixture = EngineFixture(base)
        fixture.command(.suspend(name: "path/p", by: "me", reason: nil, until: nil))
        fixture.path("p", .written, "/w/a")
        var new = base
        new.sources[1].routes = [Route(handler: "h", queue: "q")]
        fixture.reload(new)
        fixture.path("p", .written, "/w/b")
        #expect(fixture.counters(source: "path/p")?[.held] == 2)
        fixture.command(.resume(name: "path/p"))
        fixture.endAll()
        #expect(fixture.story == ["h: written:a", "h: written:b"])
    }

    @Test func whatAFullQueueHeldBackGoesTheOldWay() {
        var small = base
        for index in small.queues.indices where small.queues[index].name == "q" { small.queues[index].backlog = 1 }
        let fixture = EngineFixture(small)
        for index in 1...3 { fixture.line("f", "\(index)") }
        #expect(fixture.counters(source: "descriptor/f")?[.held] == 1)
        var new = small
        new.sources[0].routes = [Route(handler: "g", queue: "q")]
        fixture.reload(new)
        fixture.line("f", "4")
        fixture.endAll()
        #expect(fixture.story == ["h: line:1", "h: line:2", "h: line:3", "g: line:4"])
    }

    @Test func aKeyThatChangesIsForNewEventsOnly() {
        let fixture = EngineFixture(base)
        for name in ["a", "b", "c"] { fixture.path("p", .written, "/w/\(name)") }
        var new = base
        new.sources[1].key = .handler
        fixture.reload(new)
        for name in ["d", "e"] { fixture.path("p", .written, "/w/\(name)") }
        fixture.endAll()
        #expect(fixture.story == ["g: written:a", "g: written:b", "g: written:c", "g: written:d written:e"])
    }

    // MARK: main

    private let withMain = Configuration.of(
        handlers: [.exec("h"), .exec("g")], sources: [.fifo("f", to: "h", on: "main"), .fifo("e", to: "g")])

    @Test func itIsAppliedBetweenTwoOperationsOfMain() {
        let fixture = EngineFixture(withMain)
        fixture.line("f", "1")
        fixture.line("f", "2")
        let token = fixture.reload(.of(handlers: [.exec("h"), .exec("g")], sources: [.fifo("f", to: "h", on: "main")]))
        #expect(fixture.engine.phase == .reloading && fixture.reloads[token] == nil)
        #expect(fixture.engine.operation(2)?.waitingFor == "queue main: one at a time")
        fixture.line("e", "other queues go on")
        #expect(fixture.running.last == "g: line:other queues go on")
        fixture.end(fixture.runs[0])
        #expect(fixture.reloads[token]?.removed == ["descriptor/e"] && fixture.engine.phase == .running)
        #expect(fixture.running.last == "h: line:2")
    }

    @Test func itWaitsAtMostTenSecondsForMain() {
        let fixture = EngineFixture(withMain)
        fixture.line("f", "1")
        let token = fixture.reload(.of())
        fixture.advance(seconds: 9.9)
        #expect(fixture.reloads[token] == nil)
        fixture.advance(seconds: 0.1)
        #expect(fixture.reloads[token] != nil && fixture.running == ["h: line:1"])
        // The time of an earlier one is not that of the next.
        fixture.endAll()
        fixture.reload(withMain)
        fixture.line("f", "2")
        let first = fixture.reload(.of(handlers: [.exec("h")]))
        fixture.advance(seconds: 5)
        fixture.endFirst()
        #expect(fixture.reloads[first] != nil)
        fixture.reload(withMain)
        fixture.line("f", "3")
        let second = fixture.reload(.of())
        fixture.advance(seconds: 6)
        #expect(fixture.reloads[second] == nil)
    }

    @Test func aSuspendedOrWaitingMainIsNotWaitedFor() {
        let fixture = EngineFixture(withMain)
        fixture.command(.suspend(name: "main", by: "me", reason: nil, until: nil))
        fixture.line("f", "1")
        let token = fixture.reload(withMain)
        #expect(fixture.reloads[token] != nil)
    }

    @Test func oneReloadAtATime() {
        let fixture = EngineFixture(withMain)
        fixture.line("f", "1")
        fixture.reload(withMain)
        guard case .failure(.notSupported) = fixture.reply(fixture.reload(withMain)) else {
            Issue.record("two at once")
            return
        }
    }

    @Test func whatWaitsTakesTheStartTimeoutOfTheNewHandler() {
        func configuration(_ timeout: TimeSpan) -> Configuration {
            .of(
                queues: [.serial("q")],
                handlers: [.exec("busy"), .exec("h") { $0.constraints.startTimeout = timeout }],
                sources: [.fifo("b", to: "busy", on: "q"), .fifo("f", to: "h", on: "q")])
        }
        let fixture = EngineFixture(configuration(.infinity))
        fixture.line("b", "1")
        fixture.line("f", "2")
        fixture.reload(configuration(.seconds(5)))
        fixture.advance(seconds: 5)
        #expect(fixture.results == ["h failed"])
        fixture.line("f", "3")
        fixture.reload(configuration(.infinity))
        fixture.advance(seconds: 10)
        #expect(fixture.operations("h").count == 1)
    }
}
