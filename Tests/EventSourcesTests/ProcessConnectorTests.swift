import Engine
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// `Match=` against the real kernel, where that has a process connector for us.
@Suite("Process connector") struct ProcessConnectorTests {
    /// `nil`: the kernel answers.
    private static let refusal: String? = {
        do throws(SystemError) {
            let connector = try Linux.processConnector(buffer: 1 << 16)
            return connector.use { number in
                let deadline = Linux.now(.monotonic) + 5_000_000
                while Linux.now(.monotonic) < deadline {
                    if case .acknowledged(let errno)? = try? Linux.processReport(number) {
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

    private func facts(_ rim: Rim) -> [ProcessFact] {
        rim.facts.compactMap { if case .process(let fact) = $0 { fact } else { nil } }
    }

    @Test func executionForkAndEndOfAnyProcessAreToldWithItsExecutable() throws {
        try with([.exec, .fork, .exit]) { rim, program in
            let finished = try Program.run([program, "-c", "(sleep 0.2; true) & sleep 0.3; wait; exit 7"])
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
            _ = try Program.run([program, "-c", "sleep 0.2; kill -SEGV $$"])
            try wait(for: "its end") { !facts(rim).isEmpty }
            #expect(facts(rim).map(\.event) == [.coredump])
            #expect(facts(rim).first?.exit == .signaled(SIGSEGV))
        }
    }

    @Test func onlyWhatIsAskedForIsTold() throws {
        try with([.exit]) { rim, program in
            _ = try Program.run(["/bin/true"])
            _ = try Program.run([program, "-c", "sleep 0.2; kill -9 $$"])
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
            let null = try Linux.open("/dev/null", .readingAndWriting).release()
            defer { FileDescriptor(owning: null).close() }
            let earlier = try Program(
                [program, "-c", "while :; do sleep 0.05; done"].map { Array($0.utf8) },
                environment: Program.environment, descriptors: [null, null, null])
            try wait(for: "the program to run") {
                Linux.executable(of: earlier.processID) == Array(program.utf8)
            }
            try Rim.with {
                MatchSource($0, ProcessMatch(pattern: Array(program.utf8)), ProcessConnector($1))
            } then: { rim, _ in
                try rim.waitUntilArmed()
                earlier.send(SIGTERM)
                try wait(for: "its end") { facts(rim).contains { $0.pid == earlier.processID } }
                #expect(facts(rim).first { $0.pid == earlier.processID }?.exit == .signaled(SIGTERM))
            }
            earlier.wait()
        }
    }

    private func runManyShortOnes() {
        #expect((try? Program.run(["sh", "-c", "for i in $(seq 200); do /bin/true; done"]))?.code == 0)
    }

    private func gaps(_ rim: Rim) -> [Int] {
        rim.inputs.compactMap { if case .gap(_, let count) = $0 { count } else { nil } }
    }

    private func failures(_ rim: Rim) -> [String] {
        rim.inputs.compactMap { if case .source(_, .failed(let reason, _)) = $0 { reason } else { nil } }
    }

    @Test func processesThatEndUnseenAreCountedTogetherAndToldOnce() throws {
        try with([.exit]) { rim, program in
            // While the core stands still, they all end.
            rim.core.sync { runManyShortOnes() }
            try wait(for: "the gap, got \(gaps(rim))") { gaps(rim).reduce(0, +) >= 200 }
            #expect(gaps(rim).count < 20, "\(gaps(rim))")
            #expect(failures(rim).filter { $0.contains("before its executable could be read") }.count == 1)
            #expect(rim.condition == .armed)
            #expect(try Program.run([program, "-c", "sleep 0.3; exit 9"]).code == 9)
            try wait(for: "the next end") { facts(rim).contains { $0.exit == .exited(9) } }
        }
    }

    @Test func whatTheKernelDropsIsAGapAndNoEndOfAKnownProcessIsLost() throws {
        try with([.exec, .exit], buffer: 4096) { rim, program in
            let null = try Linux.open("/dev/null", .readingAndWriting).release()
            defer { FileDescriptor(owning: null).close() }
            let drops = { failures(rim).count { $0.contains("the kernel has dropped reports") } }
            let before = drops()
            let known = try Program(
                [program, "-c", "while :; do sleep 0.05; done"].map { Array($0.utf8) },
                environment: Program.environment, descriptors: [null, null, null])
            // A buffer so small may have dropped its beginning too.
            try wait(for: "it to be known, or looked for") {
                facts(rim).contains { $0.pid == known.processID } || drops() > before
            }
            try wait(for: "the source to be armed") { rim.condition == .armed }
            rim.core.sync {
                runManyShortOnes()
                known.send(SIGTERM)
                known.wait()
            }
            try wait(for: "its end, got \(facts(rim))") {
                facts(rim).contains { $0.pid == known.processID && $0.event == .exit }
            }
            #expect(drops() > 0)
            try wait(for: "the gap") { !gaps(rim).isEmpty }
            try wait(for: "the source to be armed again") { rim.condition == .armed }
        }
    }
}
