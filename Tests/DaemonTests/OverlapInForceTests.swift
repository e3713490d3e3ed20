import ControlInterface
import ProgramKit
import Testing

@testable import Daemon

@Suite("Overlap= in force", .ownThread) struct OverlapInForceTests {
    @Test func theDefaultFollowsFromTheSources() throws {
        let watch = """
            [Timer solo]
            OnStartupSec=1h
            Exec=/bin/true

            [Timer other]
            OnStartupSec=1h
            Handler=both

            [Custom poke]
            Handler=both written

            [Handler both]
            Exec=/bin/true

            [Handler written]
            Exec=/bin/true
            Overlap=restart

            [Handler nobody]
            Exec=/bin/true

            """
        try AskedRuntime.with(watch) { asked in
            let handlers = try asked.call(ListHandlers.self, .init()).handlers
            let overlaps = Dictionary(uniqueKeysWithValues: handlers.map { ($0.name, $0.overlap) })
            #expect(overlaps["solo"] == "skip" && overlaps["written"] == "restart" && overlaps["nobody"] == "wait")
            #expect(overlaps["both"].map { Set($0.split(separator: ", ")) } == ["skip", "wait"], "\(overlaps)")
            #expect(handlers.filter { $0.overlapIsDefault == nil }.map(\.name) == ["written"])
        }
    }
}
