import Dispatch
import Glibc
import LinuxSystem
import ProgramKit
import Synchronization
import Testing

@testable import EventSources

@Suite("Timers of the three clocks", .ownThreadChain, .serialized)
struct ClockTimersTests {
    private func with(_ body: (QueueBound<ClockTimers>, Context, () -> Int) throws -> Void) throws {
        let core = Context("test.core")
        let told = Mutex(0)
        let timers = try core.queue.sync {
            let timers = try ClockTimers(on: core) { told.withLock { $0 += 1 } }
            return QueueBound(timers, to: core)
        }
        defer { core.queue.sync { timers.value.cancel() } }
        try body(timers, core) { told.withLock { $0 } }
    }

    @Test(arguments: Clock.allCases)
    func eachClockTellsWhenItHasComeToItsTime(clock: Clock) throws {
        try with { timers, core, told in
            let due = Linux.now(clock) + 20_000
            try core.queue.sync { try timers.value.arm(clock, at: due) }
            try wait(for: "the timer") { told() > 0 }
            #expect(Linux.now(clock) >= due)
        }
    }

    /// The kernel tells that only once, to who arms the timer.
    @Test func aClockThatWasSetBeforeItsTimerIsArmedIsTold() throws {
        let core = Context("test.core")
        let told = Mutex(0)
        let wasSet = Mutex(false)
        let timers = try core.queue.sync {
            let timers = try ClockTimers(
                on: core,
                set: { _, _, cancels throws(SystemError) in
                    wasSet.withLock { value in
                        defer { value = false }
                        return value && cancels
                    }
                }, handler: { told.withLock { $0 += 1 } })
            return QueueBound(timers, to: core)
        }
        defer { core.queue.sync { timers.value.cancel() } }
        let later = Linux.now(.realtime) + 3_600_000_000
        try core.queue.sync { try timers.value.arm(.realtime, at: later) }
        core.queue.sync {}
        #expect(told.withLock { $0 } == 0)
        wasSet.withLock { $0 = true }
        try core.queue.sync {
            try timers.value.arm(.realtime, at: later)
            #expect(told.withLock { $0 } == 0, "not while the core is doing something else")
        }
        try wait(for: "the clock to be told") { told.withLock { $0 } == 1 }
    }

    /// As above, by the kernel.
    @Test(.enabled(if: getenv("WATCHD_TEST_SET_CLOCK") != nil && geteuid() == 0, "sets the clock: opt in, as root"))
    func aClockThatIsSetBeforeItsTimerIsArmedIsTold() throws {
        try with { timers, core, told in
            try core.queue.sync {
                var now = timespec()
                clock_gettime(CLOCK_REALTIME, &now)
                #expect(clock_settime(CLOCK_REALTIME, &now) == 0)
                try timers.value.arm(.realtime, at: Linux.now(.realtime) + 3_600_000_000)
            }
            try wait(for: "the clock to be set") { told() > 0 }
        }
    }

    /// To what it already is, which moves it by the microseconds that takes: only on a machine that allows for it.
    @Test(.enabled(if: getenv("WATCHD_TEST_SET_CLOCK") != nil && geteuid() == 0, "sets the clock: opt in, as root"))
    func aClockThatIsSetIsTold() throws {
        try with { timers, core, told in
            try core.queue.sync { try timers.value.arm(.realtime, at: Linux.now(.realtime) + 3_600_000_000) }
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            #expect(clock_settime(CLOCK_REALTIME, &now) == 0)
            try wait(for: "the clock to be set") { told() > 0 }
        }
    }
}
