import Schedule
import Testing
import WatchFile

@testable import Engine

/// Who is waited for takes the QoS of who waits.
@Suite("QoS of waiters") struct WaiterUrgencyTests {
    private func queue(_ name: String, _ qos: QoS, isSerial: Bool = false) -> QueueDefinition {
        var queue = isSerial ? QueueDefinition.serial(name) : .concurrent(name, width: 10)
        queue.qos = qos
        return queue
    }

    private func fixture(isSerial: Bool = false, processes: Int = 1) -> EngineFixture {
        EngineFixture(
            .of(
                settings: DaemonSettings(maxProcesses: processes),
                queues: [
                    queue("low", .background, isSerial: isSerial), queue("normal", .default),
                    queue("high", .userInitiated),
                ],
                handlers: [
                    .exec("low", queue: "low"), .exec("first", queue: "low"), .exec("normal", queue: "normal"),
                    .exec("high", queue: "high"),
                ], sources: []), isChecked: false)
    }

    private func run(_ fixture: EngineFixture, _ name: String, waits: Bool = false, caller: UInt64? = nil) {
        fixture.command(.run(.init(name: name, waits: waits, caller: caller)))
    }

    private func order(_ fixture: EngineFixture) -> [String] {
        fixture.endAll()
        return fixture.starts.map { "\($0.definition.value.name) \($0.qos.rawValue)" }
    }

    @Test func withoutAWaiterTheQueueDecides() {
        let fixture = fixture()
        for name in ["high", "low", "normal"] { run(fixture, name) }
        #expect(order(fixture) == ["high user-initiated", "normal default", "low background"])
    }

    @Test func aPersonWhoWaitsComesBeforeTheOthers() {
        let fixture = fixture()
        for name in ["high", "first"] { run(fixture, name) }
        run(fixture, "low", waits: true)
        run(fixture, "normal")
        for name in ["first", "low"] { run(fixture, name) }
        // Those that stand before it come sooner, and those behind it do not.
        #expect(
            order(fixture) == [
                "high user-initiated", "first user-initiated", "low user-initiated", "normal default",
                "first background", "low background",
            ])
    }

    @Test func soDoesAWaitForWhatStandsThereAlready() {
        let fixture = fixture()
        for name in ["high", "normal", "low"] { run(fixture, name) }
        fixture.command(.wait(.operation(3), after: nil, caller: nil))
        #expect(order(fixture) == ["high user-initiated", "low user-initiated", "normal default"])
    }

    @Test func whoMayNotChangeThingsRaisesNothing() {
        let fixture = fixture()
        for name in ["high", "normal", "low"] { run(fixture, name) }
        fixture.command(.wait(.operation(3), after: nil, caller: nil, raisesQoS: false))
        let user = CommandFact.User.credentials(UserCredentials(user: 1, group: 1, groups: []))
        var command = Engine.Command.SubmitCommand(
            queue: "normal", CommandFact([Array("c".utf8)], user: user), waits: true)
        command.raisesQoS = false
        fixture.command(.submit(command))
        #expect(
            order(fixture) == [
                "high user-initiated", "normal default", "@command default", "low background",
            ])
    }

    @Test func soDoesOneWhoWaitsByItsNumberLater() {
        let fixture = fixture()
        for name in ["high", "normal"] { run(fixture, name) }
        var command = Engine.Command.RunCommand(name: "low")
        command.isAwaited = true
        if case .operations(let ids) = fixture.reply(fixture.command(.run(command))) {
            #expect(ids == [3])
        } else {
            Issue.record("no answer at once")
        }
        #expect(order(fixture) == ["high user-initiated", "low user-initiated", "normal default"])
    }

    @Test func aRunThatWaitsGivesTheQoSOfItsOwnQueue() {
        // With fewer it would be a deadlock.
        let fixture = fixture(processes: 3)
        run(fixture, "normal")
        run(fixture, "low", waits: true, caller: 1)
        run(fixture, "high")
        #expect(order(fixture) == ["normal default", "low default", "high user-initiated"])
    }

    @Test func onASerialQueueThoseBeforeItComeSoonerToo() {
        let fixture = fixture(isSerial: true)
        for name in ["high", "first"] { run(fixture, name) }
        run(fixture, "low", waits: true)
        for name in ["normal", "first"] { run(fixture, name) }
        #expect(
            order(fixture) == [
                "high user-initiated", "first user-initiated", "low user-initiated", "normal default",
                "first background",
            ])
    }

    @Test func theUrgencyEndsWithTheOperation() {
        let fixture = fixture()
        run(fixture, "low", waits: true)
        fixture.endAll()
        #expect(fixture.engine.urgencies.isEmpty)
        run(fixture, "low")
        #expect(order(fixture) == ["low user-initiated", "low background"])
    }
}
