import Dispatch
import EventSources
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import Engine
@testable import Handlers

/// Processes that an earlier watchd has left running.
@Suite("Adoption", .ownThread) struct AdoptionTests {
    private func variables(_ run: RunID) -> [String] {
        Program.environment + [
            "WATCHD_INSTANCE=\(Rim.instance)", "WATCHD_OPERATION=\(run.operation)", "WATCHD_ATTEMPT=\(run.attempt)",
            "WATCHD_PART=\(run.part)", "WATCHD_HANDLER=h", "WATCHD_QUEUE=q", "WATCHD_SOURCE=s",
        ]
    }

    private func request(_ run: RunID, pid: Int32, commands: Int = 1, started: Int64? = nil) -> AdoptRequest {
        let command = Command(words: [.template(Template(literal: "/bin/true"))])
        let definition = HandlerDefinition(name: "h", action: .exec(Array(repeating: command, count: commands)))
        return AdoptRequest(run: run, definition: SharedDefinition(definition), pid: pid, started: started)
    }

    /// A process that leads a group, and is the child of somebody who waits for it.
    private struct Orphan {
        let run: RunID
        let pid: Int32
        /// The end its output comes from.
        let output: Int32
        private let parent: Program

        init(_ run: RunID, _ folder: Folder, _ script: String, environment: [String]) throws {
            self.run = run
            let (read, write) = try Linux.pipe(nonBlocking: false).ends()
            output = read
            let file = "pid-\(run.operation)-\(run.part)"
            // With job control a child leads a group, in the session of its parent: as those of watchd do.
            let shell = "set -m; sh -c \"$1\" & echo $! >\"$2\"; exec 2>/dev/null; wait"
            let words = ["bash", "-c", shell, "-", script, folder[file]]
            let null = try Linux.open("/dev/null", .readingAndWriting).release()
            defer { for end in [write, null] { FileDescriptor(owning: end).close() } }
            parent = try Program(
                words.map { Array($0.utf8) }, environment: environment, descriptors: [null, write, write])
            try wait(for: "the process to be there") { !folder.lines(file).isEmpty }
            let number = try #require(Int32(folder.lines(file)[0]))
            // It leads the group before it becomes the script.
            try wait(for: "it to lead a group, and to be the script") {
                let program = (try? Linux.readlink("/proc/\(number)/exe")) ?? []
                return Linux.place(of: number)?.groupID == number && !program.suffix(4).elementsEqual("bash".utf8)
                    && Linux.environment("WATCHD_PART", of: number) != nil
            }
            pid = number
        }

        /// From here on its parent does not wait for it.
        func stopParent() throws {
            parent.send(19)
            try wait(for: "its parent to stand still") {
                let line = try Linux.readFile("/proc/\(parent.processID)/stat")
                return String(decoding: line, as: UTF8.self).contains(") T ")
            }
        }

        func closeOutput() { FileDescriptor(owning: output).close() }
    }

    private func withOrphan(
        _ script: String, _ body: (Rim, Orphan, Folder) throws -> Void
    ) throws {
        try Folder.with { folder in
            try Linux.mkfifo(folder["gate"], mode: 0o600)
            let run = RunID(operation: UInt64(Linux.now(.boottime)), attempt: 2, part: 1)
            let gated = script.split(separator: "GATE", omittingEmptySubsequences: false)
                .joined(separator: folder["gate"])
            let orphan = try Orphan(run, folder, gated, environment: variables(run))
            try Rim.with { try body($0, orphan, folder) }
            try? Linux.kill(group: orphan.pid, signal: 9)
        }
    }

    /// watchd's variables are behind those of the handler.
    @Test(arguments: [0, 10, 14]) func anOrphanIsFoundByWhatIsInItsEnvironment(large: Int) throws {
        let run = RunID(operation: 77, attempt: 2, part: 3)
        let others = (0..<large).map { "LARGE\($0)=" + String(repeating: "x", count: 100_000) }
        let script = "set -m; sleep 300 </dev/null >/dev/null 2>&1 & echo $!"
        let started = Linux.now(.realtime)
        let said = try Program.run(["bash", "-c", script], environment: others + variables(run))
        let pid = try #require(Int32(said.text.dropLast()))
        try wait(for: "it to lead a group, without its parent") {
            Linux.place(of: pid).map { $0.groupID == pid && $0.parentID != Linux.processID } == true
        }
        defer { try? Linux.kill(group: pid, signal: 9) }
        var found: [AdoptableProcess] = []
        // Other tests have theirs.
        try wait(for: "it to be found") {
            found = try AdoptableProcess.all(instance: Rim.instanceName, .none).filter { $0.pid == pid }
            return !found.isEmpty
        }
        let process = try #require(found.first)
        #expect(process.run == run)
        #expect([process.handler, process.queue, process.source] == ["h", "q", "s"])
        #expect(abs(process.started - started) < 10_000_000)
        #expect(try AdoptableProcess.all(instance: InstanceName(folder: "other", secret: [1]), .none).isEmpty)
        #expect(try AdoptableProcess.all(instance: .none, .none).isEmpty)
    }

    /// A process that sleeps uninterruptibly until `gate` is opened for writing, as one does that starts another
    /// (`vfork(2)`), or that waits for a disk.
    private func withStuckOrphan(_ run: RunID, _ body: (_ pid: Int32, _ gate: String) throws -> Void) throws {
        try Folder.with { folder in
            try Linux.mkfifo(folder["gate"], mode: 0o600)
            let code = """
                import os, time
                opening = (os.POSIX_SPAWN_OPEN, 5, '\(folder["gate"])', os.O_RDONLY, 0)
                os.posix_spawn('/bin/true', ['true'], os.environ, file_actions=[opening])
                time.sleep(300)
                """
            let script = "set -m; python3 -c \"$1\" </dev/null >/dev/null 2>&1 & echo $!"
            let said = try Program.run(["bash", "-c", script, "bash", code], environment: variables(run))
            let pid = try #require(Int32(said.text.dropLast()))
            defer { try? Linux.kill(group: pid, signal: 9) }
            // Before it has a child it may wait for the disk that it is read from.
            try wait(for: "it to sleep so") {
                let children = try Linux.readFile("/proc/\(pid)/task/\(pid)/children")
                return !children.isEmpty && Linux.place(of: pid)?.isStuck == true
            }
            try body(pid, folder["gate"])
        }
    }

    @Test func anOrphanThatSleepsUninterruptiblyIsWaitedFor() throws {
        let run = RunID(operation: 78, attempt: 1)
        try withStuckOrphan(run) { pid, gate in
            DispatchQueue(label: "test.gate").asyncAfter(deadline: .now() + .milliseconds(300)) {
                try? Linux.open(gate, .writing).close()
            }
            let found = try AdoptableProcess.all(
                instance: Rim.instanceName, .none, patience: 30_000_000)
            #expect(found.filter { $0.pid == pid }.map(\.run) == [run])
        }
    }

    /// Its environment cannot be read: the time of its start says that it is no other.
    @Test(arguments: [Int64(0), 60_000_000]) func anOrphanThatSleepsUninterruptiblyIsAdopted(late: Int64) throws {
        let run = RunID(operation: 79, attempt: 1)
        let started = Linux.now(.realtime) - late
        try withStuckOrphan(run) { pid, gate in
            try Rim.with { rim in
                rim.adopt(request(run, pid: pid, started: started))
                #expect((rim.ended[run] == nil) == (late == 0), "another process of this number has ended")
                guard late == 0 else { return }
                try Linux.open(gate, .writing).close()
                try Linux.kill(group: pid, signal: 9)
                try wait(for: "its end") { rim.ended[run] != nil }
            }
        }
    }

    /// Anybody can give a set-user-ID program any environment.
    @Test func whatSaysOfItselfMoreThanARunCanIsNone() throws {
        let place = try #require(Linux.place(of: Linux.processID))
        func process(_ changes: [String: String?]) -> AdoptableProcess? {
            var values: [String: String] = [
                "OPERATION": "7", "ATTEMPT": "1", "PART": "0", "HANDLER": "h", "QUEUE": "q",
            ]
            for (name, value) in changes { values[name] = value }
            return AdoptableProcess(
                Linux.processID, place, values.map { Array("WATCHD_\($0.key)=\($0.value)".utf8) })
        }
        let supervised: [String: String?] = ["HANDLER": nil, "QUEUE": nil, "KIND": "process", "SOURCE": "web"]
        #expect(process([:])?.isSupervised == false && process(supervised)?.isSupervised == true)
        for (name, values) in [
            "OPERATION": ["18446744073709551615", "\(1 << 60 + 1)", "-1", "", "x"],
            "ATTEMPT": ["0", "-1", "2147483648", ""], "PART": ["-1", "2147483648", "x", ""],
        ] {
            for value in values {
                #expect(process([name: value]) == nil, "\(name) \(value)")
                #expect(process(supervised.merging([name: value]) { $1 }) == nil, "\(name) \(value)")
            }
        }
        #expect(process(["OPERATION": "\(1 << 60)", "ATTEMPT": "2147483647", "PART": "100000"]) != nil)
        #expect(process(supervised.merging(["PART": "99999"]) { $1 }) != nil)
        #expect(process(supervised.merging(["PART": "100000"]) { $1 }) == nil, "no more copies")
        #expect(process(["PART": nil])?.run.part == 0)
        #expect(process(["HANDLER": nil]) == nil && process(["QUEUE": nil]) == nil)
    }

    @Test func anotherWatchdsProcessIsNotTakenForARunThoughItsNumberWasThatOfOne() throws {
        let run = RunID(operation: UInt64(Linux.now(.boottime)), attempt: 1)
        try Folder.with { folder in
            try Linux.mkfifo(folder["gate"], mode: 0o600)
            let others = variables(run).map { $0.hasPrefix("WATCHD_INSTANCE=") ? $0 + "0" : $0 }
            let orphan = try Orphan(run, folder, "read x <\(folder["gate"])", environment: others)
            defer { try? Linux.kill(group: orphan.pid, signal: 9) }
            orphan.closeOutput()
            try Rim.with { rim in
                rim.adopt(request(run, pid: orphan.pid))
                try wait(for: "it to be looked at") { rim.ended[run] != nil }
                #expect(rim.ended[run]?.exit == nil)
                #expect(Linux.place(of: orphan.pid)?.isZombie == false)
            }
        }
    }

    @Test func aRunThatIsOursIsNoOrphan() throws {
        try Folder.with { folder in
            try Linux.mkfifo(folder["gate"], mode: 0o600)
            let run = RunID(operation: UInt64(Linux.now(.boottime)), attempt: 1)
            let program = try Program(
                ["sh", "-c", "read x <\(folder["gate"])"].map { Array($0.utf8) }, environment: variables(run),
                descriptors: [])
            try wait(for: "it to have its environment") {
                Linux.environment("WATCHD_PART", of: program.processID) != nil
            }
            #expect(
                try !AdoptableProcess.all(instance: Rim.instanceName, .none).contains { $0.pid == program.processID })
        }
    }

    @Test func theEndAndTheOutputOfAProcessThatIsNotOursAreSeen() throws {
        try withOrphan("echo early; read x <GATE; echo late; exit 7") { rim, orphan, folder in
            rim.adopt(request(orphan.run, pid: orphan.pid))
            // Without another reader it would die of SIGPIPE now.
            orphan.closeOutput()
            #expect(rim.ended.isEmpty)
            #expect(rim.kept == ["keep pidfd-\(name(orphan))", "keep output-\(name(orphan))"])
            try folder.append("gate", "\n")
            try wait(for: "its end") { rim.ended[orphan.run] != nil }
            #expect(rim.ended[orphan.run]?.exit == .exited(7))
            #expect(rim.ended[orphan.run]?.reason == nil)
            #expect(rim.output(of: orphan.run).hasSuffix("late\n"))
            #expect(rim.kept.suffix(2) == ["forget pidfd-\(name(orphan))", "forget output-\(name(orphan))"])
            #expect(rim.long.isEmpty)
        }
    }

    @Test(arguments: [Int32(0), 7]) func howOneEndedIsKnownThoughItsParentNeverWaitsForIt(code: Int32) throws {
        try withOrphan("read x <GATE; exit \(code)") { rim, orphan, folder in
            try orphan.stopParent()
            rim.adopt(request(orphan.run, pid: orphan.pid), output: orphan.output)
            let began = Linux.now(.monotonic)
            try folder.append("gate", "\n")
            try wait(for: "its end") { rim.ended[orphan.run] != nil }
            #expect(Linux.now(.monotonic) - began < 1_900_000, "it is told at once")
            #expect(rim.ended[orphan.run]?.exit == .exited(code))
            #expect(rim.ended[orphan.run]?.reason == nil)
            #expect(Linux.place(of: orphan.pid)?.isZombie == true)
        }
    }

    @Test func howOneEndedBeforeItWasFoundIsKnownWhileItsParentDoesNotWaitForIt() throws {
        try withOrphan("read x <GATE; exit 7") { rim, orphan, folder in
            let started = Linux.now(.realtime)
            try orphan.stopParent()
            orphan.closeOutput()
            #expect(!AdoptableProcess.isZombie(orphan.pid, startedAt: started), "it lives")
            try folder.append("gate", "\n")
            try wait(for: "its end") { Linux.place(of: orphan.pid)?.isZombie == true }
            #expect(AdoptableProcess.isZombie(orphan.pid, startedAt: started))
            for other in [started - 60_000_000, started + 60_000_000] {
                #expect(!AdoptableProcess.isZombie(orphan.pid, startedAt: other), "another process of this number")
            }
            rim.adopt(request(orphan.run, pid: orphan.pid, started: started))
            try wait(for: "its end to be told") { rim.ended[orphan.run] != nil }
            #expect(rim.ended[orphan.run]?.exit == .exited(7))
        }
    }

    /// Where no service manager keeps its output.
    @Test(arguments: ["echo said", "(exit 141)"])
    func whatEndsBecauseNobodyReadsItSaysNothingOfTheRun(last: String) throws {
        try withOrphan("read x <GATE; \(last)") { rim, orphan, folder in
            let started = Linux.now(.realtime)
            try orphan.stopParent()
            orphan.closeOutput()
            // A program that another test starts may have it until it executes.
            try wait(for: "nobody to read it") {
                try Linux.open("/proc/\(orphan.pid)/fd/1", [.writing, .nonBlocking]).use {
                    try Linux.poll($0, [], timeout: 0).contains(.error)
                }
            }
            try folder.append("gate", "\n")
            try wait(for: "its end") { Linux.place(of: orphan.pid)?.isZombie == true }
            rim.adopt(request(orphan.run, pid: orphan.pid, started: started))
            try wait(for: "its end to be told") { rim.ended[orphan.run] != nil }
            #expect(rim.ended[orphan.run]?.exit == nil)
            let reason = "ended by SIGPIPE while watchd was down, as nobody read its output"
            #expect(rim.ended[orphan.run]?.reason == reason)
        }
    }

    private func name(_ orphan: Orphan) -> String { "\(orphan.run.operation)-\(orphan.run.attempt)-\(orphan.run.part)" }

    /// SIGKILL and SIGTERM may have been meant for watchd and all that is its.
    @Test(arguments: [("exit 7", Exit.exited(7)), ("kill -SEGV $$", .signaled(11)), ("kill -KILL $$", nil)])
    func whatEndedWhileNobodyWatchedIsKnownFromTheStoredDescriptors(end: String, exit: Exit?) throws {
        try withOrphan("read x <GATE; echo said; \(end)") { rim, orphan, folder in
            let pidfd = try Linux.pidfdOpen(orphan.pid).release()
            try folder.append("gate", "\n")
            try wait(for: "its parent to have waited") { try Linux.poll(pidfd, [], timeout: 0).contains(.hangUp) }
            rim.adopt(request(orphan.run, pid: orphan.pid), pidfd: pidfd, output: orphan.output)
            try wait(for: "its end") { rim.ended[orphan.run] != nil }
            #expect(rim.ended[orphan.run]?.exit == exit)
            #expect(rim.ended[orphan.run]?.reason == (exit == nil ? "ended by SIGKILL while watchd was down" : nil))
            #expect(rim.output(of: orphan.run) == "said\n")
        }
    }

    /// Of a unit, only its condition is a process of watchd.
    @Test func anOrphanThatWasAConditionOfAUnitHasDoneNothing() throws {
        let condition = Command(words: [.template(Template(literal: "/bin/true"))])
        for code in [0, 1] {
            try withOrphan("read x <GATE; exit \(code)") { rim, orphan, folder in
                var request = request(orphan.run, pid: orphan.pid)
                var definition = request.definition.value
                definition.placement = UnitPlacement()
                definition.conditions.commands = [condition]
                request.definition = SharedDefinition(definition)
                rim.adopt(request, output: orphan.output)
                try folder.append("gate", "\n")
                try wait(for: "its end") { rim.ended[orphan.run] != nil }
                #expect(rim.ended[orphan.run]?.exit == nil)
                let reason = "watchd was restarted while it asked ExecCondition=, so nothing was done"
                #expect(rim.ended[orphan.run]?.reason == reason)
            }
        }
    }

    @Test func whichOfSeveralCommandsSucceededIsNotKnown() throws {
        for (code, isKnown) in [(0, false), (3, true)] {
            try withOrphan("read x <GATE; exit \(code)") { rim, orphan, folder in
                rim.adopt(request(orphan.run, pid: orphan.pid, commands: 2), output: orphan.output)
                try folder.append("gate", "\n")
                try wait(for: "its end") { rim.ended[orphan.run] != nil }
                #expect(rim.ended[orphan.run]?.exit == (isKnown ? .exited(Int32(code)) : nil))
                let reason = "watchd was restarted while it ran, and which of its 2 commands ended is not known"
                #expect(rim.ended[orphan.run]?.reason == (isKnown ? nil : reason))
            }
        }
    }

    @Test func aSignalReachesTheWholeGroupAndTheEndWaitsForIt() throws {
        // The leader ends at once, the other one takes its time.
        let script = "(trap 'read y <GATE; exit 0' TERM; echo ready; while :; do sleep 0.1; done) & wait"
        try withOrphan(script) { rim, orphan, folder in
            rim.adopt(request(orphan.run, pid: orphan.pid), output: orphan.output)
            _ = try Linux.poll(orphan.output, .readable, timeout: 10_000)
            try wait(for: "both") { Linux.place(of: orphan.pid) != nil }
            rim.signal(orphan.run, 15)
            try wait(for: "the leader's end") { Linux.place(of: orphan.pid).map(\.isZombie) ?? true }
            #expect(rim.ended.isEmpty)
            try folder.append("gate", "\n")
            try wait(for: "the end of all") { rim.ended[orphan.run] != nil }
            #expect(rim.ended[orphan.run]?.exit == .signaled(15))
        }
    }

    @Test func whatJobsOfUnitsHaveToldIsInTheLogOnly() throws {
        try Rim.with { rim in
            let run = RunID(operation: 5, attempt: 1)
            let action = UnitAction(units: [Template(literal: "a.service")])
            let definition = SharedDefinition(HandlerDefinition(name: "h", action: .unit(action)))
            rim.adopt(AdoptRequest(run: run, definition: definition, pid: 0))
            #expect(rim.ended[run]?.reason == "watchd was restarted while it ran, and how it ended is not known")
            #expect(rim.used[run]?.lacksBeginning == true)
        }
    }

    @Test func aProcessThatIsGoneOrAnothersEndsUnknown() throws {
        let reason = "watchd was restarted while it ran, and how it ended is not known"
        let run = RunID(operation: 5, attempt: 1)
        try Rim.with { rim in
            rim.adopt(request(run, pid: Int32.max))
            #expect(rim.ended[run]?.exit == nil)
            #expect(rim.ended[run]?.reason == reason)
        }
        try withOrphan("read x <GATE") { rim, orphan, _ in
            orphan.closeOutput()
            var other = orphan.run
            other.attempt += 1
            rim.adopt(request(other, pid: orphan.pid))
            #expect(rim.ended[other]?.reason == reason)
            rim.signal(other, 9)
            #expect(Linux.place(of: orphan.pid)?.isZombie == false)
        }
    }
}
