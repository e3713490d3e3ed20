import ProgramKit
import Testing
import WatchFile

@testable import Handlers

@Suite("States of units", .ownThread) struct UnitStatesTests {
    /// States that a test changes.
    private final class Known {
        private var states: UnitStates

        init(_ names: [String], limit: Int = UnitStates.limit) { states = UnitStates(names, limit: limit) }

        var isFull: Bool { states.isFull }
        func saw(_ unit: String, _ state: UnitChange) -> Bool { states.saw(unit, state) }
        func all(_ listed: (String, UnitChange)...) -> [String] {
            states.saw(all: listed.map { (unit: $0.0, state: $0.1) }).map { "\($0.unit) \($0.state)" }
        }
    }

    @Test func onlyAnotherStateThanBeforeIsAChange() {
        let states = Known(["a.service"])
        #expect(!states.saw("a.service", .inactive), "what is not loaded is inactive")
        #expect(states.saw("a.service", .activating))
        #expect(!states.saw("a.service", .activating))
        #expect(states.saw("a.service", .failed))
        #expect(states.saw("a.service", .inactive))
        #expect(!states.saw("a.service", .inactive))
    }

    @Test func whatChangedWhileNobodyLookedIsFoundAndNothingInvented() {
        let states = Known(["*"])
        _ = states.all(("a.service", .active), ("b.service", .active), ("c.service", .failed))
        #expect(
            states.all(("a.service", .active), ("c.service", .active), ("d.service", .failed)) == [
                "b.service inactive", "c.service active", "d.service failed",
            ])
        #expect(states.all(("a.service", .active), ("c.service", .active), ("d.service", .failed)).isEmpty)
    }

    @Test func namesAreMatchedAsSystemdDoes() {
        let states = UnitStates(["a.service", "web-*", "x?.[st]*", #"dev-a\x2db.device"#])
        for unit in ["a.service", "web-1.service", "web-a@b.socket", "xy.timer", "xy.service", #"dev-a\x2db.device"#] {
            #expect(states.isWatched(unit), "\(unit)")
        }
        for unit in ["aa.service", "Web-1.service", "x.timer", "xyz.timer", "dev-a-b.device", "xy.path"] {
            #expect(!states.isWatched(unit), "\(unit)")
        }
    }

    @Test func whatReloadsIsActiveAndWhatIsCleanedInactive() {
        #expect(["reloading", "refreshing", "active"].map(UnitStates.state) == [.active, .active, .active])
        #expect(["maintenance", "inactive"].map(UnitStates.state) == [.inactive, .inactive])
        #expect(UnitStates.state("failed") == .failed && UnitStates.state("dreaming") == nil)
    }

    @Test func unitsBeyondTheBoundAreNotWatchedAndThatIsSeen() {
        let states = Known(["*"], limit: 2)
        _ = states.all(("a.service", .active), ("b.service", .active))
        #expect(!states.isFull)
        #expect(!states.saw("c.service", .failed) && states.isFull)
        #expect(states.saw("a.service", .inactive))
        #expect(states.all(("b.service", .active), ("c.service", .failed)) == ["c.service failed"])
        #expect(!states.isFull, "there is room again")
    }
}
