import Dispatch
import Engine
import Glibc
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import WatchFile

@testable import EventSources

/// `Match=` against the real kernel, where that has a process connector for us.
@Suite("Process connector", .ownThread) struct ProcessConnectorTests {
    /// `nil`: the kernel answers.
    private static let refusal: String? = {
        do throws(SystemError) {
            let connector = try Linux.processConnector(buffer: 1 << 16)
            return connector.use { number in
                let deadline = Linux.now(.monotonic) + 5_000_000
                var numbers = ProcessReportNumbers()
                while Linux.now(.monotonic) < deadline {
                    if case .acknowledged(let errno)? = try? Linux.processReport(number, &numbers) {
                        return errno.map { "\($0)" }
                    }
                    _ = poll(nil, 0, 10)
                }
                return "no answer"
            }
        } catch {
            return "\(error)"
        }
    }()

    /// A program with a path of its own.
    private func with(
        _ events: Set<ProcessEvent>, buffer: Int = ProcessConnector.usualBuffer, _ body: (Rim, String) throws -> Void
    ) throws {
        if let refusal = Self.refusal {
            print("not tested, as the kernel refuses its process connector: \(refusal)")
            return
        }
        try Folder.with { folder in
            let program = folder["program"]
            try #require(try Program.run(["cp", "/bin/sh", program]).code == 0)
            let pattern = Array((folder.path + "/pro*").utf8)
            try Rim.with {
                MatchSource(
                    $0, ProcessMatch(pattern: pattern, events: events), ProcessConnector($1, buffer: buffer))
            } then: { rim, _ in
                try rim.waitUntilArmed()
                try body(rim, program)
            }
        }
    }

    /// A process that runs until a signal ends it. Its executable can be read before the kernel has reported its
    /// execution, so it tells itself that it runs.
    private func loop(_ program: String, in folder: Folder) throws -> Program {
        let null = try Linux.open("/dev/null", .readingAndWriting).release()
        defer { FileDescriptor(owning: null).close() }
        let commands = "echo >'\(folder["loops"])'; while :; do sleep 0.1; done"
        let process = try Program(
            [program, "-c", commands].map { Array($0.utf8) }, environment: Program.environment,
            descriptors: [null, null, null])
        try wait(for: "the program to run") { folder.exists("loops") }
        return process
    }

    private func facts(_ rim: Rim) -> [ProcessFact] {
        rim.facts.compactMap { if case .process(let fact) = $0 { fact } else { nil } }
    }

    @Test func executionForkAndEndOfAnyProcessAreToldWithItsExecutable() throws {
        try with([.exec, .fork, .exit]) { rim, program in
            let finished = try Program.run([program, "-c", "(sleep 1; true) & sleep 1; wait; exit 7"])
            #expect(finished.code == 7)
            try wait(for: "its end, got \(facts(rim))") {
                facts(rim).contains { $0.event == .exit && $0.exit == .exited(7) }
            }
            let own = facts(rim).first { $0.event == .exec }
            #expect(own?.executable == Array(program.utf8))
            #expect(facts(rim).contains { $0.event == .fork && $0.pid != own?.pid })
            let end = facts(rim).last { $0.pid == own?.pid && $0.event == .exit }
            #expect(end?.exit == .exited(7))
            #expect((end?.runTime ?? 0) > 100_000)
        }
    }

    @Test func aCoreDumpIsToldWithItsSignal() throws {
        try with([.coredump]) { rim, program in
            _ = try Program.run([program, "-c", "sleep 1; kill -SEGV $$"])
            try wait(for: "its end") { !facts(rim).isEmpty }
            #expect(facts(rim).map(\.event) == [.coredump])
            #expect(facts(rim).first?.exit == .signaled(SIGSEGV))
        }
    }

    @Test func onlyWhatIsAskedForIsTold() throws {
        try with([.exit]) { rim, program in
            _ = try Program.run(["/bin/true"])
            _ = try Program.run([program, "-c", "sleep 1; kill -9 $$"])
            try wait(for: "its end") { !facts(rim).isEmpty }
            #expect(Set(facts(rim).map(\.event)) == [.exit])
            #expect(facts(rim).contains { $0.exit == .signaled(9) })
        }
    }

    @Test func aProcessThatRanBeforeIsKnown() throws {
        if let refusal = Self.refusal {
            print("not tested, as the kernel refuses its process connector: \(refusal)")
            return
        }
        try Folder.with { folder in
            let program = folder["earlier"]
            try #require(try Program.run(["cp", "/bin/sh", program]).code == 0)
            let earlier = try loop(program, in: folder)
            try Rim.with {
                MatchSource($0, ProcessMatch(pattern: Array(program.utf8)), ProcessConnector($1))
            } then: { rim, _ in
                try rim.waitUntilArmed()
                earlier.send(SIGTERM)
                try wait(
                    for:
                        "its end, \(failures(rim)), pid \(earlier.processID), \(Linux.place(of: earlier.processID) as Any), \(facts(rim))"
                ) { facts(rim).contains { $0.pid == earlier.processID } }
                // Where the kernel has dropped the report of its end, only that it ended is known.
                let exit = facts(rim).first { $0.pid == earlier.processID }?.exit
                #expect(exit == .signaled(SIGTERM) || (exit == nil && drops(rim) > 0))
            }
            earlier.wait()
        }
    }

    /// As an upgrade does it; then somebody else asks, so that all processes are looked at.
    @Test func aProcessWhoseExecutableIsRenamedLivesAndItsEndIsTold() throws {
        if let refusal = Self.refusal {
            print("not tested, as the kernel refuses its process connector: \(refusal)")
            return
        }
        try Folder.with { folder in
            let program = folder["app"]
            try #require(try Program.run(["cp", "/bin/sh", program]).code == 0)
            let running = try loop(program, in: folder)
            var connector: QueueBound<ProcessConnector>?
            try Rim.with { id, environment in
                let new = ProcessConnector(environment)
                connector = QueueBound(new, to: environment.core)
                return MatchSource(id, ProcessMatch(pattern: Array(program.utf8)), new)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                try Linux.rename(program, to: folder["app.old"])
                let other = SourceID(.process, "other")
                rim.core.queue.sync {
                    connector?.value.add(other, ProcessMatch(pattern: Array(folder["app.old"].utf8)))
                }
                try wait(for: "all processes to be looked at") {
                    rim.inputs.contains { if case .source(other, .armed) = $0 { true } else { false } }
                }
                #expect(!facts(rim).contains { $0.pid == running.processID }, "it lives")
                running.send(SIGTERM)
                try wait(
                    for:
                        "its end, to both, \(failures(rim)), pid \(running.processID), \(drops(rim)) dropped, \(facts(rim))"
                ) { facts(rim).count { $0.pid == running.processID } == 2 }
                for fact in facts(rim) where fact.pid == running.processID {
                    #expect(fact.exit == .signaled(SIGTERM) || (fact.exit == nil && drops(rim) > 0))
                    #expect(fact.executable == Array(program.utf8), "by which it was executed")
                }
                rim.core.queue.sync { connector?.value.remove(other) }
            }
            running.wait()
        }
    }

    /// Its beginning and its end are read only after the list of all processes, which has it.
    @Test func aProcessThatEndsBeforeItsBeginningIsReadIsKnownByTheList() throws {
        if let refusal = Self.refusal {
            print("not tested, as the kernel refuses its process connector: \(refusal)")
            return
        }
        try Folder.with { folder in
            let program = folder["app"]
            try #require(try Program.run(["cp", "/bin/sh", program]).code == 0)
            let pattern = Array(program.utf8)
            let read = Mutex<Set<Int32>>([])
            var connector: QueueBound<ProcessConnector>?
            try Rim.with { id, environment in
                let new = ProcessConnector(environment) { process in
                    defer { read.withLock { _ = $0.insert(process) } }
                    return Linux.executable(of: process)
                }
                connector = QueueBound(new, to: environment.core)
                return MatchSource(id, ProcessMatch(pattern: pattern, events: [.exec, .exit]), new)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                let other = SourceID(.process, "other")
                let ended = try rim.core.queue.sync {
                    let running = try loop(program, in: folder)
                    connector?.value.add(other, ProcessMatch(pattern: pattern))
                    try wait(for: "it to be listed") { read.withLock { $0.contains(running.processID) } }
                    running.send(SIGTERM)
                    running.wait()
                    return running.processID
                }
                try wait(for: "its end, to both, \(failures(rim)), \(gaps(rim)), \(facts(rim))") {
                    facts(rim).count { $0.pid == ended && $0.event == .exit } == 2
                }
                for fact in facts(rim) where fact.pid == ended && fact.event == .exit {
                    #expect(fact.exit == .signaled(SIGTERM) || (fact.exit == nil && drops(rim) > 0))
                }
                rim.core.queue.sync { connector?.value.remove(other) }
            }
        }
    }

    private func runManyShortOnes(_ count: Int = 200) {
        #expect((try? Program.run(["sh", "-c", "for i in $(seq \(count)); do /bin/true; done"]))?.code == 0)
    }

    private func gaps(_ rim: Rim) -> [Int] {
        rim.inputs.compactMap { if case .gap(_, let count) = $0 { count } else { nil } }
    }

    private func failures(_ rim: Rim) -> [String] {
        rim.inputs.compactMap { if case .source(_, .failed(let reason, _)) = $0 { reason } else { nil } }
    }

    private func drops(_ rim: Rim) -> Int { failures(rim).count { $0.contains("the kernel has dropped reports") } }

    @Test func processesThatEndUnseenAreCountedTogetherAndToldOnce() throws {
        try with([.exit]) { rim, program in
            // While the core stands still, they all end.
            rim.core.sync { runManyShortOnes() }
            try wait(for: "the gap, got \(gaps(rim))") { gaps(rim).reduce(0, +) >= 200 }
            #expect(gaps(rim).count < 20, "\(gaps(rim))")
            #expect(rim.warnings.filter { $0.contains("before its executable could be read") }.count == 1)
            #expect(rim.condition == .armed && failures(rim).isEmpty, "it has not failed")
            #expect(try Program.run([program, "-c", "sleep 1; exit 9"]).code == 9)
            try wait(for: "the next end") { facts(rim).contains { $0.exit == .exited(9) } }
        }
    }

    @Test func whatTheKernelDropsIsAGapAndNoEndOfAKnownProcessIsLost() throws {
        // Small, but not so small that what else runs on a busy machine is always too much.
        try with([.exec, .exit], buffer: 1 << 17) { rim, program in
            let null = try Linux.open("/dev/null", .readingAndWriting).release()
            defer { FileDescriptor(owning: null).close() }
            let before = drops(rim)
            let known = try Program(
                [program, "-c", "while :; do sleep 0.1; done"].map { Array($0.utf8) },
                environment: Program.environment, descriptors: [null, null, null])
            // A buffer so small may have dropped its beginning too.
            try wait(for: "it to be known, or looked for") {
                facts(rim).contains { $0.pid == known.processID } || drops(rim) > before
            }
            try wait(for: "the source to be armed") { rim.condition == .armed }
            rim.core.sync {
                runManyShortOnes(500)
                known.send(SIGTERM)
                known.wait()
            }
            try wait(for: "its end, got \(facts(rim))") {
                facts(rim).contains { $0.pid == known.processID && $0.event == .exit }
            }
            #expect(drops(rim) > 0)
            try wait(for: "the gap") { !gaps(rim).isEmpty }
            try wait(for: "the source to be armed again") { rim.condition == .armed }
        }
    }

    /// The kernel says that it drops reports, and then no more of it until all is read that it has kept.
    @Test func whatIsDroppedAfterThatIsSeenByTheNumbersOfTheReports() throws {
        guard Self.refusal == nil else { return }
        let connector = try Linux.processConnector(buffer: 4096)
        try connector.use { number in
            var numbers = ProcessReportNumbers()
            var overruns = 0
            func read() -> ProcessReport? {
                do throws(SystemError) {
                    return try Linux.processReport(number, &numbers)
                } catch {
                    if error.errno == .noBufferSpace { overruns += 1 }
                    return nil
                }
            }
            runManyShortOnes()
            #expect(read() == nil && overruns == 1)
            // Dropped too, without a word.
            runManyShortOnes()
            #expect(read() != nil && overruns == 1)
            try wait(for: "what comes after what is missing") {
                _ = try Program.run(["/bin/true"])
                for _ in 0..<1000 where read() == nil { break }
                return numbers.takeGap()
            }
        }
    }
}
