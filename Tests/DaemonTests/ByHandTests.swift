import ControlInterface
import JSON
import ProgramKit
import Testing

@testable import Daemon

/// What `watchctl run` starts is told as what it is wherever it is told: its source has seen nothing.
@Suite("Runs by hand", .ownThread) struct ByHandTests {
    private static let watch = """
        [Timer long]
        OnStartupSec=1h
        Exec=/bin/true

        [Custom poke]
        Exec=/bin/true

        [Handler g1]
        Exec=/bin/true

        """

    private func isByHand(_ event: JSONValue?) -> Bool { event?.members?["by_hand"] == .bool(true) }

    @Test func everyViewSaysIt() throws {
        try AskedRuntime.with(Self.watch) { asked in
            for name in ["long", "handler/g1"] { _ = try asked.call(Run.self, .init(name: name)) }
            _ = try asked.call(Run.self, .init(name: "poke", data: 7))
            let ended = try asked.ended(3).sorted { $0.id < $1.id }
            #expect(
                ended.map(\.cause) == ["timer/long, run by hand", "run by hand", "custom/poke, data 7, run by hand"])
            #expect(ended.allSatisfy { $0.byHand == true })
            for peer in [AskedRuntime.administrator, AskedRuntime.reader] {
                let events = asked.followed(as: peer).compactMap(\.event)
                #expect(events.count == 3 && events.allSatisfy(isByHand), "\(events)")
            }
            for operation in ended {
                let detail = try asked.call(GetOperation.self, .init(id: operation.id)).operation
                #expect(detail.summary.byHand == true)
                #expect(detail.events.count == 1 && isByHand(detail.events.first), "\(detail.events)")
            }
        }
    }

    @Test func whatTheSourceTellsIsNot() throws {
        try AskedRuntime.with(Self.watch) { asked in
            _ = try asked.call(Emit.self, .init(name: "poke"))
            let ended = try asked.ended(1)
            #expect(ended.map(\.cause) == ["custom/poke, data 1"] && ended.first?.byHand == nil)
            let events = asked.followed().compactMap(\.event)
            #expect(events.count == 1 && !isByHand(events.first))
        }
    }
}
