import ControlInterface
import JSON
import ProgramKit
import Testing

@testable import Daemon

@Suite("Follow", .ownThread) struct FollowTests {
    @Test func aDeliveryThatMadeNoOperationIsToldWithItsReason() throws {
        let watch = """
            [Custom solo]
            Overlap=skip
            Exec=/bin/sleep 600

            """
        try AskedRuntime.with(watch) { asked in
            _ = try asked.call(Emit.self, .init(name: "solo"))
            var running: OperationSummary?
            try wait(for: "the run") {
                running = try asked.call(ListOperations.self, .init()).operations.first { $0.pid != nil }
                return running != nil
            }
            let id = try #require(running?.id)
            _ = try asked.call(Emit.self, .init(name: "solo"))
            let told = asked.followed()
            let skipped = told.filter { $0.operation?.result == .skipped }
            #expect(skipped.map(\.operation?.reason) == ["Overlap=skip: \(id) still runs"], "\(told)")
            #expect(skipped.first?.operation?.handler == "solo" && skipped.first?.operation?.source == "custom/solo")
            let event = try #require(told.last { $0.event != nil }, "its event comes first")
            #expect(event.sequence < skipped.first?.sequence ?? 0)
            #expect(skipped.first?.operation?.id == (try asked.ended(1)).first?.id, "it is the record of the history")
            let read = asked.followed(as: AskedRuntime.reader).filter { $0.operation?.result == .skipped }
            #expect(read.count == 1 && read.first?.operation?.reason == nil)
            _ = try asked.call(Cancel.self, .init(id: id))
        }
    }
}
