import Engine
import EventSources
import LinuxSystem
import Testing
import WatchFile

@testable import Daemon

/// The values that a runtime is made of, each alone.
@Suite("Values of the runtime") struct RuntimeValueTests {
    private func configuration(_ watch: String) throws -> Configuration {
        let loaded = Daemon.load([WatchFileText(file: "test.watch", bytes: Array(watch.utf8))])
        return try #require(loaded.configuration, "\(loaded.diagnostics)")
    }

    private static let uploads = SourceID(.path, "uploads")

    // MARK: Readiness

    @Test func readyWaitsForEachSourceOnceAndForTheRequiredUntilTheyAreArmed() throws {
        let watch = """
            [Path uploads]
            Path=/a
            Exec=true
            [Path needed]
            Path=/b
            Required=yes
            Exec=true
            [Timer t]
            OnStartupSec=1h
            Exec=true

            """
        let needed = SourceID(.path, "needed")
        var readiness = Readiness()
        for source in try configuration(watch).sources { readiness.wait(for: source) }
        var hasReached = readiness.reach()
        #expect(!hasReached)
        #expect(readiness.text == "starting, waiting for path/needed to be armed (Required=yes)")
        #expect(readiness.isUntried(Self.uploads) && !readiness.isUntried(needed) && readiness.isAwaited(needed))
        readiness.take(.failed("gone"), of: Self.uploads)
        readiness.take(.failed("gone"), of: needed)
        hasReached = readiness.reach()
        #expect(!hasReached, "the required one has only been tried")
        readiness.take(.armed, of: needed)
        hasReached = readiness.reach()
        #expect(hasReached && readiness.isReached && !readiness.isAwaited(needed))
        hasReached = readiness.reach()
        #expect(!hasReached, "once")
    }

    // MARK: How sources stand

    @Test func aStandKeepsTheTimeAtWhichItBegan() {
        var stands = SourceStands()
        var isNews = stands.take(.failed("no such file"), of: Self.uploads, at: 10)
        #expect(isNews && stands.hasFailures)
        isNews = stands.take(.failed("no such file"), of: Self.uploads, at: 20)
        #expect(!isNews && stands[Self.uploads].condition?.since == 10)
        isNews = stands.take(.armed, of: Self.uploads, at: 30)
        #expect(isNews && !stands.hasFailures && stands[Self.uploads].condition?.since == 30)
        stands.take(comparison: "comparing", of: Self.uploads, at: 40)
        stands.take(comparison: "telling", of: Self.uploads, at: 50)
        #expect(stands[Self.uploads].comparison?.text == "telling" && stands[Self.uploads].comparison?.since == 40)
        stands.take(comparison: nil, of: Self.uploads, at: 60)
        #expect(stands[Self.uploads].comparison == nil)
    }

    @Test func aLossIsToldFromItsFirstOneAndOfProcessesNever() {
        var stands = SourceStands()
        let (process, descriptor) = (SourceID(.process, "p"), SourceID(.descriptor, "d"))
        for (time, id) in [(1, process), (2, Self.uploads), (3, Self.uploads), (4, descriptor)] {
            stands.lost(id, at: Int64(time))
        }
        #expect(stands.gaps.map(\.id) == [descriptor, Self.uploads])
        #expect(stands.gaps.map(\.since) == [4, 2])
        stands.forget(Self.uploads)
        #expect(stands.gaps.map(\.id) == [descriptor])
    }

    // MARK: Reloads

    @Test func whoeverAsksDuringAReloadWaitsForOneMore() {
        var reloads = Reloads()
        var begins = reloads.begin { _ in }
        #expect(begins && reloads.isUnderWay)
        for _ in 0..<3 {
            begins = reloads.begin { _ in }
            #expect(!begins)
        }
        let later = reloads.end().count
        #expect(later == 3 && !reloads.isUnderWay)
        begins = reloads.begin { _ in }
        let after = reloads.end().count
        #expect(begins && after == 0)
    }

    // MARK: Running processes

    @Test func aRunIsForgottenHoweverItEnds() {
        let (run, other) = (RunID(operation: 7, attempt: 1), RunID(operation: 8, attempt: 1))
        let own = Ancestry(of: Linux.processID)
        var running = RunningProcesses()
        func operation() -> UInt64? { running.operation(of: own) { _ in false } }
        for end in [
            Input.runEnded(run, .exited(0)), .runSkipped(run, reason: ""), .runGivenUp(run, reason: ""),
            .runStarted(run, pid: 1 << 29),
        ] {
            running.note(.runStarted(run, pid: Linux.processID))
            #expect(operation() == 7)
            running.note(end)
            #expect(operation() == nil, "\(end)")
        }
        // Another run has its number by now.
        running.note(.runStarted(run, pid: Linux.processID))
        running.note(.runStarted(other, pid: Linux.processID))
        running.note(.runSkipped(run, reason: ""))
        #expect(operation() == 8)
    }

    // MARK: Members of groups

    @Test func membersAreWrittenWhenTheyHaveChanged() throws {
        let (a, b) = (SourceID(.group, "a"), SourceID(.group, "b"))
        var members = WrittenMembers(try configuration("[Timer t]\nOnStartupSec=1h\nExec=true\n"))
        func told(_ counts: [SourceID: Int], _ tallies: [SourceID: GroupFact] = [:]) -> [String] {
            members.writes(counts, tallies).map { write in
                switch write {
                case .members(let id, let count): "\(id.name) \(count)"
                case .tally(let id, let tally): "\(id.name) ran \(tally.ran)"
                default: "\(write)"
                }
            }
        }
        #expect(told([a: 2, b: 1]) == ["a 2", "b 1"])
        #expect(told([a: 2], [b: GroupFact(ran: 1)]) == ["b 0", "b ran 1"])
        #expect(told([a: 2], [b: GroupFact(ran: 1)]) == [])
        #expect(told([a: 2]) == ["b ran 0"])
    }
}
