import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("HoldUntil=") struct HoldUntilTests {
    private static let path = HoldCondition.path(Array("/go".utf8))

    private func configuration(
        _ handler: [HoldCondition] = [], source: [HoldCondition] = [], isDurable: Bool = false
    ) -> Configuration {
        var queue = QueueDefinition.serial("q")
        queue.isDurable = isDurable
        return .of(
            queues: [queue], handlers: [.exec("h", queue: "q") { $0.windows.holdUntil = handler }, .exec("other")],
            sources: [
                SourceDefinition.custom("x", to: "h", on: "q").with { $0.windows.holdUntil = source },
                .custom("y", to: "other"),
            ])
    }

    /// `watch path:/go` and `unwatch …`, in order.
    private func watching(_ fixture: EngineFixture) -> [String] {
        fixture.actions.compactMap { action in
            switch action {
            case .watch(let condition): "watch \(condition)"
            case .unwatch(let condition): "unwatch \(condition)"
            default: nil
            }
        }
    }

    @Test(arguments: [false, true]) func whatComesWaitsAndIsNamedUntilItHolds(ofSource: Bool) throws {
        let fixture = EngineFixture(ofSource ? configuration(source: [Self.path]) : configuration([Self.path]))
        #expect(watching(fixture).isEmpty, "nothing waits")
        for name in ["x", "x", "y"] { fixture.emit(name) }
        #expect(fixture.starts.map(\.definition.value.name) == ["other"])
        #expect(watching(fixture) == ["watch path:/go"])
        let view = try #require(fixture.engine.operationViews.first)
        #expect(view.waitReason == .condition && view.deliveries == 2)
        #expect(view.waitingFor == "HoldUntil=path:/go: it is being looked at")
        fixture.send(.hold(Self.path, obstacle: "nothing is there"))
        #expect(fixture.engine.operation(view.id)?.waitingFor == "HoldUntil=path:/go: nothing is there")
        #expect(fixture.engine.explain(operation: view.id)?.last?.code == .condition)
        fixture.send(.hold(Self.path, obstacle: nil))
        #expect(fixture.starts.map(\.definition.value.name) == ["other", "h"])
        #expect(watching(fixture).last == "unwatch path:/go")
        // What comes while it runs is looked at anew.
        fixture.emit("x")
        fixture.endAll()
        #expect(fixture.starts.count == 2 && watching(fixture).last == "watch path:/go")
        fixture.send(.hold(Self.path, obstacle: nil))
        fixture.endAll()
        #expect(fixture.starts.count == 3)
    }

    @Test func allConditionsHaveToHoldAtOnce() {
        let fixture = EngineFixture(configuration([Self.path], source: [.mainsPower]))
        fixture.emit("x")
        fixture.send(.hold(Self.path, obstacle: nil))
        fixture.send(.hold(Self.path, obstacle: "gone"))
        fixture.send(.hold(.mainsPower, obstacle: nil))
        #expect(fixture.starts.isEmpty)
        fixture.send(.hold(Self.path, obstacle: nil))
        #expect(fixture.starts.count == 1)
        // One that nobody asked for changes nothing.
        fixture.send(.hold(.networkOnline, obstacle: nil))
        #expect(watching(fixture).count == 4)
    }

    @Test func aCancelEndsTheLookAndAReloadChangesWhatIsWaitedFor() {
        let fixture = EngineFixture(configuration([Self.path]))
        fixture.emit("x")
        fixture.command(.cancel(operation: 1))
        #expect(watching(fixture) == ["watch path:/go", "unwatch path:/go"])
        fixture.emit("x")
        fixture.reload(configuration([.mainsPower]))
        #expect(watching(fixture).suffix(2) == ["unwatch path:/go", "watch ac-power"])
        fixture.send(.hold(Self.path, obstacle: nil))
        #expect(fixture.starts.isEmpty)
        fixture.reload(configuration())
        #expect(fixture.starts.count == 1 && watching(fixture).last == "unwatch ac-power")
    }

    @Test func aDurableOperationWaitsAgainAfterARestart() {
        let configuration = configuration([Self.path], isDurable: true)
        let fixture = EngineFixture(configuration)
        fixture.emit("x")
        let state = DurableTests.state(fixture.writes, ended: fixture.ended)
        let next = EngineFixture(configuration, restoring: state)
        #expect(watching(next) == ["watch path:/go"] && next.starts.isEmpty)
        next.send(.hold(Self.path, obstacle: nil))
        #expect(next.starts.count == 1)
    }

    @Test(arguments: [false, true]) func aDelayThatIsOverBeforeItHoldsIsOverAfterARestart(isKilled: Bool) {
        var configuration = configuration([Self.path], isDurable: true)
        configuration.handlers[0].constraints.delay = .seconds(20)
        let fixture = EngineFixture(configuration)
        fixture.emit("x")
        fixture.advance(seconds: 21)
        #expect(watching(fixture) == ["watch path:/go"] && fixture.starts.isEmpty)
        if !isKilled { fixture.send(.drain) }
        let next = EngineFixture(configuration, restoring: DurableTests.state(fixture.writes, ended: fixture.ended))
        #expect(watching(next) == ["watch path:/go"])
        next.send(.hold(Self.path, obstacle: nil))
        #expect(next.starts.count == 1)
    }

    @Test func tenThousandGoOnTogetherInTheirOrder() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 20_000)],
                handlers: [.exec("h", queue: "q") { $0.windows.holdUntil = [Self.path] }],
                sources: [.custom("x", to: "h", on: "q", key: .none, coalesces: false)]), isChecked: false)
        for _ in 0..<10_000 { fixture.emit("x") }
        #expect(watching(fixture) == ["watch path:/go"])
        fixture.send(.hold(Self.path, obstacle: nil))
        #expect(watching(fixture).count == 2)
        fixture.endAll()
        #expect(fixture.ended.map(\.id) == (1...10_000).map { UInt64($0) })
    }
}
