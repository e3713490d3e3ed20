import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

/// The calendar, silence and windows with the real daemon, and what a restart leaves of them.
@Suite("Timers of the calendar and silence, end to end", .ownThread) struct TimedTests {
    /// Until so much of the boot clock has passed: nothing else is there to wait for.
    private func pass(seconds: Double) throws {
        let end = Linux.now(.boottime) + Int64(seconds * 1_000_000)
        try wait(for: "\(seconds) s to pass") { Linux.now(.boottime) >= end }
    }

    /// While the sources are opened, times pass for which a clock is armed.
    @Test func timersThatElapseDuringTheStartGoOn() throws {
        let text = """
            [Timer often]
            EverySec=20ms
            Log=tick
            [Timer begin]
            OnStartupSec=300ms
            Log=begun
            [Process other]
            PIDFile=@/pid
            Log=ended
            [Descriptor lines]
            ListenFIFO=@/fifo
            Log=line

            """
        for _ in 1...5 {
            try Watchd.run(text) { watchd in
                try watchd.waitForLog("begun")
                let ticks = watchd.folder.lines("log").count { $0.hasSuffix(": tick") }
                try wait(for: "more") { watchd.folder.lines("log").count { $0.hasSuffix(": tick") } > ticks }
            }
        }
    }

    @Test func aTimerOfTheCalendarFiresOnItsSecond() throws {
        let text = """
            [Timer second]
            OnCalendar=*:*:*
            Exec=@/record %{scheduled}
            [Timer far]
            OnCron=0 4 29 2 *
            Log=leap
            """
        try Watchd.run(text) { watchd in
            for run in try watchd.waitForRuns(3) {
                let due = String(decoding: run.arguments.first ?? [], as: UTF8.self)
                #expect(due.hasSuffix(".000000Z"), "\(due)")
            }
            #expect(try watchd.source("timer/second").lastEvent != nil)
            #expect(try watchd.source("timer/far").nextElapse != nil)
            let shown = try watchd.control("sources")
            #expect(shown.code == 0 && shown.text.contains("timer/far"), "\(shown.text)")
        }
    }

    @Test func whatIsNotCaughtUpIsToldOfEveryTimer() throws {
        let text = """
            [Timer grid]
            EverySec=100ms
            Log=tick
            [Timer calendar]
            OnCalendar=*:*:*
            Log=tick
            [Timer far]
            OnCalendar=*-02-29 04:00
            Log=leap

            """
        try Lives.run(text) { lives in
            lives.stop()
            try pass(seconds: 2.2)
            try lives.start()
            for name in ["grid", "calendar"] {
                let steps = try lives.watchd.call(Explain.self, .init(name: "timer/\(name)")).steps
                let missed = steps.filter { $0.code == "missed" }
                #expect(missed.count == 1 && missed[0].time != nil, "\(steps)")
                let sentence = missed.first?.sentence ?? ""
                #expect(sentence.hasSuffix(" elapses missed: watchd was not running (CatchUp=none)"), "\(sentence)")
                #expect(Int(sentence.prefix { $0 != " " }) ?? 0 >= 2, "\(sentence)")
                try lives.watchd.waitForLog("timer/\(name): \(sentence)")
                #expect(try lives.watchd.source("timer/\(name)").counters.gap == 0, "left out on purpose")
            }
            #expect(!lives.folder.text("log").contains("timer/far: "))
        }
    }

    @Test(arguments: ["one", "all"])
    func whatWasMissedWhileItWasKilledIsCaughtUp(catchUp: String) throws {
        let text = """
            [Timer tick]
            OnCalendar=*:*:0/2
            CatchUp=\(catchUp)
            Overlap=parallel
            Exec=/bin/sh -c 'echo "%{scheduled} $WATCHD_COUNT"' @/tick
            StandardOutput=append:@/ticks

            """
        try Lives.run(text) { lives in
            try wait(for: "an elapse") { !lives.folder.lines("ticks").isEmpty }
            lives.kill()
            try wait(for: "the end of the next one") { Watchd.processes(of: lives.folder).isEmpty }
            let before = lives.folder.lines("ticks").count
            try pass(seconds: 6.5)
            try lives.start()
            try wait(for: "what was missed") {
                lives.folder.lines("ticks").count >= before + (catchUp == "one" ? 1 : 3)
            }
            let ticks = lives.folder.lines("ticks").dropFirst(before)
            if catchUp == "one" {
                let count = ticks.first?.split(separator: " ").last.flatMap { Int($0) }
                #expect(count ?? 0 >= 3, "\(ticks)")
            } else {
                #expect(ticks.allSatisfy { $0.hasSuffix(" 1") }, "\(ticks)")
                #expect(Set(ticks).count == ticks.count, "\(ticks)")
            }
        }
    }

    private static let silence = """
        [Custom beat]
        Log=beat
        SilenceSec=%
        OnSilence=tell
        OnSound=tell
        [Handler tell]
        Exec=/bin/sh -c 'echo "%{event}"'
        StandardOutput=append:@/told

        """

    private func silence(_ span: String) -> String {
        Self.silence.split(separator: "%", maxSplits: 1).joined(separator: span)
    }

    @Test func silenceThatWasToldIsNotToldAgainAfterARestart() throws {
        try Lives.run(silence("1s")) { lives in
            try wait(for: "silence") { lives.folder.lines("told") == ["silence"] }
            lives.stop()
            try lives.start()
            try pass(seconds: 1.5)
            #expect(try lives.watchd.control("explain", "custom/beat").text.contains("more than SilenceSec=1s"))
            #expect(try lives.watchd.source("beat").reason?.hasPrefix("silent for") == true)
            try lives.watchd.emit("beat")
            try wait(for: "sound") { lives.folder.lines("told").count >= 2 }
            #expect(lives.folder.lines("told").prefix(2) == ["silence", "sound"])
        }
    }

    @Test func aKillWhileSilenceIsToldTellsNobodyTwice() throws {
        let sources = (1...60).map { "[Custom beat\($0)]\nSilenceSec=2s\nOnSilence=tell\n" }.joined()
        let tell = "[Handler tell]\nExec=/bin/sh -c 'echo \"$WATCHD_SOURCE\"'\nStandardOutput=append:@/told\n"
        try Lives.run(sources + tell + "Overlap=parallel\n") { lives in
            try wait(for: "the first") { !lives.folder.lines("told").isEmpty }
            lives.kill()
            try lives.start()
            try pass(seconds: 2.5)
            try lives.watchd.waitUntilIdle()
            let told = lives.folder.lines("told")
            #expect(Set(told).count == told.count, "\(told.sorted())")
        }
    }

    @Test func aFixedDelayCountsNoTimeThatWatchdWasDown() throws {
        let text = """
            [Timer after]
            AfterSec=10s
            Exec=/bin/echo after
            StandardOutput=append:@/told

            """
        let first = Linux.now(.boottime)
        try Lives.run(text) { lives in
            try pass(seconds: 1)
            lives.stop()
            let stop = Linux.now(.boottime)
            try pass(seconds: 10)
            let second = Linux.now(.boottime)
            try lives.start()
            try wait(for: "the elapse") { !lives.folder.lines("told").isEmpty }
            #expect((stop - first) + (Linux.now(.boottime) - second) >= 10_000_000)
        }
    }

    @Test(arguments: [false, true]) func aMomentAfterBootThatHasPassedElapsesOnce(isKilled: Bool) throws {
        try Lives.run("[Timer boot]\nOnBootSec=1s\nExec=/bin/echo boot\nStandardOutput=append:@/told\n") { lives in
            try wait(for: "the elapse") { !lives.folder.lines("told").isEmpty }
            try lives.watchd.waitUntilIdle()
            // Its reply comes after everything that was written before.
            try lives.watchd.suspend("main")
            try lives.watchd.resume("main")
            for _ in 1...2 {
                if isKilled { lives.kill() } else { lives.stop() }
                try lives.start()
                try pass(seconds: 0.3)
            }
            #expect(lives.folder.lines("told") == ["boot"])
        }
    }

    @Test func theClockOfSilenceGoesOnAcrossRestarts() throws {
        try Lives.run(silence("4s")) { lives in
            // No life is long enough by itself.
            for _ in 1...4 where lives.folder.lines("told").isEmpty {
                try pass(seconds: 1.6)
                lives.stop()
                try lives.start()
            }
            #expect(lives.folder.lines("told").first == "silence")
        }
    }

    @Test func aWindowSkipsAndAnotherHolds() throws {
        let text = """
            [Custom skipped]
            NotDuring=*-*-* 00:00 for 25h
            Exec=@/record skipped
            [Custom kept]
            HoldDuring=*:*:0/10 for 11s
            Exec=@/record kept
            """
        try Watchd.run(text) { watchd in
            try watchd.emit("skipped")
            #expect(try watchd.waitUntilIdle().skipped == 1)
            try watchd.emit("kept")
            #expect(try watchd.status().totals.pending == 1)
            let shown = try watchd.control("operations").text
            #expect(shown.contains("HoldDuring=*-*-* *:*:00/10 for 11s"), "\(shown)")
        }
    }
}
