import Schedule
import Testing
import WatchFile

@testable import Engine

/// The fixture begins on a Friday at 08:00:00 UTC.
@Suite("Windows of the calendar")
struct WindowTests {
    private func configuration(_ windows: CalendarWindows, ofSource: Bool = false) -> Configuration {
        .of(
            handlers: [.exec("h") { if !ofSource { $0.windows = windows } }, .exec("other")],
            sources: [SourceDefinition.custom("x", to: "h", "other").with { if ofSource { $0.windows = windows } }])
    }

    @Test(arguments: [false, true])
    func whatComesInAWindowIsSkipped(ofSource: Bool) {
        // The first one began before watchd did.
        var windows = CalendarWindows(notDuring: CalendarWindow.of("07:30", .seconds(3600)))
        windows.notDuring += CalendarWindow.of("08:20", .seconds(1200))
        let fixture = EngineFixture(configuration(windows, ofSource: ofSource))
        fixture.emit("x")
        #expect(fixture.starts.map(\.definition.value.name) == (ofSource ? [] : ["other"]))
        let reason = fixture.refused.first?.reason ?? ""
        #expect(reason.hasPrefix("NotDuring=") && reason.hasSuffix("40min more"), "\(reason)")
        fixture.endAll()
        fixture.advance(seconds: 2399)
        fixture.emit("x")
        #expect(fixture.counters(handler: "h")?[.skipped] == 2)
        fixture.endAll()
        fixture.advance(seconds: 1)
        fixture.emit("x")
        #expect(fixture.counters(handler: "h")?[.running] == 1)
    }

    @Test func whatComesInAWindowWaitsUntilAllOfThemAreOver() {
        var windows = CalendarWindows(holdDuring: CalendarWindow.of("07:30", .seconds(3600)))
        windows.holdDuring += CalendarWindow.of("08:20", .seconds(1200))
        let fixture = EngineFixture(configuration(windows))
        fixture.emit("x")
        fixture.emit("x")
        #expect(fixture.starts.map(\.definition.value.name) == ["other"])
        let view = fixture.engine.operationViews.first { $0.handler == "h" }
        #expect(view?.waitReason == .window && view?.waitingFor?.hasSuffix("40min more") == true)
        #expect(view?.deliveries == 2 && view?.state == .pending)
        fixture.advance(seconds: 2399)
        #expect(fixture.counters(handler: "h")?[.pending] == 2)
        fixture.advance(seconds: 1)
        #expect(fixture.counters(handler: "h")?[.running] == 2)
    }

    /// Of what is never over no end is made up.
    @Test func aWindowThatIsNeverOverSaysSo() {
        let minutes = CalendarWindow.of("*:*", .seconds(120))
        let holding = EngineFixture(configuration(CalendarWindows(holdDuring: minutes)))
        holding.emit("x")
        let waiting = holding.engine.operationViews.first { $0.handler == "h" }?.waitingFor ?? ""
        #expect(waiting.hasSuffix("for 2min, which never ends"), "\(waiting)")
        let skipping = EngineFixture(configuration(CalendarWindows(notDuring: minutes)))
        skipping.emit("x")
        #expect(skipping.refused.first?.reason.hasSuffix("for 2min, which never ends") == true)
        // Together they leave no gap, which can be looked through for a while only.
        let two = CalendarWindow.of("*:0/2", .seconds(60)) + CalendarWindow.of("*:1/2", .seconds(60))
        let together = EngineFixture(configuration(CalendarWindows(holdDuring: two)))
        together.emit("x")
        let both = together.engine.operationViews.first { $0.handler == "h" }?.waitingFor ?? ""
        #expect(both.contains("at least 16h"), "\(both)")
    }

    @Test func whatCameBeforeAWindowDoesNotTakeInWhatComesThen() {
        let windows = CalendarWindows(holdDuring: CalendarWindow.of("08:10", .seconds(600)))
        let fixture = EngineFixture(configuration(windows))
        fixture.suspend("queue/default")
        fixture.emit("x")
        fixture.advance(seconds: 700)
        fixture.emit("x")
        fixture.resume("queue/default")
        #expect(fixture.counters(handler: "h")?[.running] == 1 && fixture.counters(handler: "h")?[.pending] == 1)
        fixture.endAll()
        fixture.advance(seconds: 500)
        fixture.endAll()
        #expect(fixture.counters(handler: "h")?[.done] == 2)
    }

    @Test func aClockThatIsSetOutOfTheWindowEndsTheWaiting() {
        let windows = CalendarWindows(holdDuring: CalendarWindow.of("07:30", .seconds(3600)))
        let fixture = EngineFixture(configuration(windows))
        fixture.emit("x")
        fixture.stepWallClock(seconds: 3600)
        #expect(fixture.counters(handler: "h")?[.running] == 1)
        fixture.endAll()
        fixture.stepWallClock(seconds: -3600)
        fixture.emit("x")
        #expect(fixture.counters(handler: "h")?[.pending] == 1)
    }

    @Test(arguments: [false, true])
    func aReloadThatTakesTheWindowAwayLetsWhatWaitsGo(ofSource: Bool) {
        let windows = CalendarWindows(holdDuring: CalendarWindow.of("07:30", .seconds(3600)))
        let fixture = EngineFixture(configuration(windows, ofSource: ofSource))
        fixture.emit("x")
        #expect(fixture.counters(handler: "h")?[.pending] == 1)
        fixture.reload(configuration(CalendarWindows(), ofSource: ofSource))
        #expect(fixture.counters(handler: "h")?[.running] == 1)
    }

    @Test func whatWaitsCanBeCancelled() {
        let windows = CalendarWindows(holdDuring: CalendarWindow.of("07:30", .seconds(3600)))
        let fixture = EngineFixture(configuration(windows))
        fixture.emit("x")
        fixture.cancel(1)
        #expect(fixture.counters(handler: "h")?[.cancelled] == 1 && fixture.engine.clocks.windowEnds.isEmpty)
    }
}
