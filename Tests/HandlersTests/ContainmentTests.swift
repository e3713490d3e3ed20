import EventSources
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import Engine
@testable import Handlers

extension Containment {
    static var none: Containment { Containment(reason: "a test") }
}

/// Runs in cgroups of their own, below one that is made for the test.
@Suite("Containment", .ownThread) struct ContainmentTests {
    private static let canMakeGroups: Bool = {
        guard let own = ControlGroup.own else { return false }
        let group = own.child("watchd-test-\(Linux.processID)")
        defer { try? group.remove() }
        return (try? group.make()) == true
    }()

    private static func with(_ body: (Containment, Folder) throws -> Void) throws {
        let own = try #require(ControlGroup.own)
        let base = own.child("watchd-test-\(Linux.processID)-\(Linux.now(.boottime))")
        _ = try base.make()
        defer {
            base.kill()
            try? wait(for: "the cgroup of the test to be empty") { (try? base.remove()) != nil }
        }
        try Folder.with { try body(Containment(base: base), $0) }
    }

    private func request(
        _ number: UInt64, _ script: String, _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> StartRequest {
        let words = ["/bin/sh", "-c", script].map { Command.Word.template(Template(literal: $0)) }
        var definition = HandlerDefinition(name: "h", action: .exec([Command(words: words)]))
        definition.standardInput = .null
        change(&definition)
        return StartRequest(
            run: RunID(operation: number, attempt: 1), definition: SharedDefinition(definition), queue: "q",
            qos: .default, environment: [], origin: .source(SourceID(.custom, "c")),
            events: [Event(id: 1, time: 0, fact: .custom(CustomFact(data: 1)))])
    }

    /// Starts something in a session and with a parent of its own, which writes its number.
    private func escape(_ folder: Folder, _ script: String = "exec sleep 1000", trap: String = ":") -> String {
        """
        (setsid sh -c '\(trap); echo $$ >\(folder["new"]); mv \(folder["new"]) \(folder["escaped"]); \(script)' &)
        until [ -e \(folder["escaped"]) ]; do sleep 0.1; done
        """
    }

    private func isAlive(_ folder: Folder) -> Bool {
        guard let pid = folder.lines("escaped").first.flatMap({ Int32($0) }) else { return false }
        return Linux.place(of: pid).map { !$0.isZombie } ?? false
    }

    @Test func namesAreReadAsTheyAreWritten() {
        for run in [RunID(operation: 4711, attempt: 1), RunID(operation: 1, attempt: 12, part: 3)] {
            #expect(Containment.run(named: Containment.name(of: run)) == run)
        }
        #expect(Containment.name(of: RunID(operation: 4711, attempt: 1)) == "run-4711-1")
        for name in ["run-", "run-1", "run-1-1-0", "run-01-1", "run-1-1-1-1", "run-1--1", "daemon", "run-x-1"] {
            #expect(Containment.run(named: name) == nil, "\(name)")
        }
    }

    @Test(.enabled(if: canMakeGroups, "no cgroup can be made here"))
    func theEndOfARunIsTheEndOfAllItsProcesses() throws {
        try Self.with { containment, folder in
            try Rim.with(containment) { rim in
                let run = request(7, "cat /proc/self/cgroup; \(escape(folder))")
                rim.start(run)
                try wait(for: "the end") { rim.ended[run.run] != nil }
                #expect(rim.ended[run.run]?.exit == .exited(0))
                #expect(rim.output(of: run.run).contains("/run-7-1\n"))
                #expect(rim.used[run.run]?.isOfProcess == false && rim.used[run.run]?.processorTime ?? 0 > 0)
                #expect(!isAlive(folder))
                #expect(containment.runs.isEmpty)
            }
        }
    }

    @Test(.enabled(if: canMakeGroups, "no cgroup can be made here"))
    func whoFailsOrFloodsIsEndedAsWell() throws {
        try Self.with { containment, folder in
            try Rim.with(containment) { rim in
                let flood = "for i in $(seq 300); do setsid sleep 1000 & done; exit 3"
                rim.start(request(1, flood))
                rim.start(request(2, escape(folder) + "; kill -KILL $$"))
                try wait(for: "both ends") { rim.ended.count == 2 }
                #expect(rim.ended[RunID(operation: 1, attempt: 1)]?.exit == .exited(3))
                #expect(rim.ended[RunID(operation: 2, attempt: 1)]?.exit == .signaled(9))
                #expect(!isAlive(folder) && containment.runs.isEmpty)
            }
        }
    }

    @Test(.enabled(if: canMakeGroups, "no cgroup can be made here"))
    func aSignalReachesWhoHasLeftTheProcessGroupAndIsWaitedFor() throws {
        try Self.with { containment, folder in
            try Rim.with(containment) { rim in
                let heeds = "trap \"sleep 0.3; echo heard; exit\" TERM"
                let waits = escape(folder, "while :; do sleep 0.1; done", trap: heeds)
                let run = request(1, waits + "; exec sleep 1000")
                rim.start(run)
                try wait(for: "it to have escaped") { isAlive(folder) }
                rim.signal(run.run, 15)
                try wait(for: "the end") { rim.ended[run.run] != nil }
                #expect(rim.ended[run.run]?.exit == .signaled(15))
                // The shell may tell before that the signal has ended its sleep.
                #expect(rim.output(of: run.run).hasSuffix("heard\n"))
            }
        }
    }

    @Test(.enabled(if: canMakeGroups, "no cgroup can be made here"))
    func whoDoesNotHeedItIsKilledWherever() throws {
        try Self.with { containment, folder in
            try Rim.with(containment) { rim in
                let waits = escape(folder, "sleep 1000; sleep 1000", trap: "trap \"\" TERM")
                let run = request(1, waits + "; exec sleep 1000")
                rim.start(run)
                try wait(for: "it to have escaped") { isAlive(folder) }
                rim.signal(run.run, 15)
                try wait(for: "its first process to be gone") {
                    containment.living(run.run).map { $0.processes.count <= 2 } ?? false
                }
                #expect(rim.ended.isEmpty && isAlive(folder))
                rim.signal(run.run, 9)
                try wait(for: "the end") { rim.ended[run.run] != nil }
                #expect(!isAlive(folder) && containment.runs.isEmpty)
            }
        }
    }

    @Test(.enabled(if: canMakeGroups, "no cgroup can be made here"), arguments: [KillMode.process, .none])
    func withAnotherKillModeTheRestGoesOn(mode: KillMode) throws {
        try Self.with { containment, folder in
            try Rim.with(containment) { rim in
                let run = request(1, escape(folder)) { $0.killMode = mode }
                rim.start(run)
                try wait(for: "the end") { rim.ended[run.run] != nil }
                #expect(isAlive(folder))
                #expect(rim.used[run.run]?.leftProcesses ?? 0 > 0, "its record says so")
                rim.sweep()
                try wait(for: "it to be swept away") { !isAlive(folder) && containment.runs.isEmpty }
            }
        }
    }

    @Test(.enabled(if: canMakeGroups, "no cgroup can be made here"))
    func eachOfSeveralCommandsHasNothingOfTheOneBefore() throws {
        try Self.with { containment, folder in
            try Rim.with(containment) { rim in
                let run = request(1, escape(folder)) { definition in
                    guard case .exec(let commands) = definition.action else { return }
                    let words = ["/bin/sh", "-c", "cat /proc/self/cgroup"].map {
                        Command.Word.template(Template(literal: $0))
                    }
                    definition.action = .exec(commands + [Command(words: words)])
                }
                rim.start(run)
                try wait(for: "the end") { rim.ended[run.run] != nil }
                #expect(rim.output(of: run.run).contains("/run-1-1\n") && !isAlive(folder))
            }
        }
    }

    /// What was left of an earlier run of that name is no part of this one.
    @Test(.enabled(if: canMakeGroups, "no cgroup can be made here"))
    func aRunIsFoundByItsCgroupAndWhatIsNobodysIsEnded() throws {
        try Self.with { containment, folder in
            let base = try #require(containment.base)
            let group = base.child("run-4-2")
            _ = try group.make()
            let script =
                "echo $$ >\(group.path.printable)/cgroup.procs; exec env -i bash -c 'set -m; sleep 1000 & wait'"
            let parent = try Program(
                ["/bin/sh", "-c", script].map { Array($0.utf8) }, environment: Program.environment,
                descriptors: [0, 1, 2])
            // Others of this instance are those of other tests. The shell makes a group of its sleep's own after the fork.
            var found: [AdoptableProcess] = []
            try wait(for: "the leader of a group") {
                found = try AdoptableProcess.all(instance: Rim.instanceName, containment).filter(\.isContained)
                return !found.isEmpty && group.processes.count == 2
            }
            #expect(found.map(\.run) == [RunID(operation: 4, attempt: 2)])
            #expect(found.first.map { $0.pid != parent.processID } == true)
            #expect(found.first?.mayBe(of: nil) == true)
            try Rim.with(containment) { rim in
                rim.sweep()
                try wait(for: "it to be gone") { containment.runs.isEmpty }
            }
            #expect(parent.wait() == .signaled(9, core: false))
        }
    }

    @Test(.enabled(if: canMakeGroups, "no cgroup can be made here"))
    func anAdoptedRunEndsWithAllItsProcesses() throws {
        try Self.with { containment, folder in
            let run = RunID(operation: 9, attempt: 1)
            let group = try #require(containment.base).child(Containment.name(of: run))
            _ = try group.make()
            // With job control the script leads a group of its own.
            let inner =
                "echo $$ >\(folder["leader"]); \(escape(folder)); until [ -e \(folder["go"]) ]; do sleep 0.1; done"
            try folder.write("inner", inner)
            let script = "echo $$ >\(group.path.printable)/cgroup.procs; set -m; sh \(folder["inner"]) & wait"
            let parent = try Program(
                ["/bin/bash", "-c", script].map { Array($0.utf8) }, environment: Program.environment,
                descriptors: [0, 1, 2])
            try wait(for: "it to have escaped") { isAlive(folder) && !folder.lines("leader").isEmpty }
            let leader = try #require(Int32(folder.lines("leader")[0]))
            try Rim.with(containment) { rim in
                let request = request(9, "true")
                rim.adopt(
                    AdoptRequest(
                        run: run, definition: request.definition, pid: leader, seen: Linux.now(.boottime)))
                try folder.write("go", "")
                try wait(for: "the end") { rim.ended[run] != nil }
                #expect(!isAlive(folder) && containment.runs.isEmpty)
            }
            _ = parent.wait()
        }
    }

    // MARK: Limits

    @Test func limitsAreWrittenAsTheKernelReadsThem() throws {
        try Folder.with { folder in
            let files = ["memory.max", "cpu.max", "pids.max", "cpu.weight", "io.weight"]
            for file in files { try folder.write(file, "") }
            var limits = ResourceControl()
            (limits.memoryMax, limits.cpuQuota, limits.tasksMax) = (64 << 20, 150, .max)
            (limits.cpuWeight, limits.ioWeight) = (20, 30)
            let containment = Containment(base: ControlGroup(path: Array(folder["base"].utf8)))
            let group = ControlGroup(path: Array(folder.path.utf8))
            #expect(containment.set(limits, on: group, of: "h").isEmpty)
            #expect(files.map { folder.text($0) } == ["67108864", "150000 100000", "max", "20", "default 30"])
        }
    }

    @Test func aLimitWithoutEffectIsToldOnce() throws {
        try Folder.with { folder in
            var limits = ResourceControl()
            (limits.memoryMax, limits.ioWeight) = (1, 30)
            let containment = Containment(base: ControlGroup(path: Array(folder["base"].utf8)))
            let group = ControlGroup(path: Array(folder.path.utf8))
            #expect(
                containment.set(limits, on: group, of: "h") == [
                    "MemoryMax= without effect: the cgroup of watchd has no controller “memory”",
                    "IOWeight= without effect: the cgroup of watchd has no controller “io”",
                ])
            #expect(containment.set(limits, on: group, of: "h").isEmpty)
            #expect(containment.set(limits, on: group, of: "other").count == 2)
            let run = request(1, "true") { $0.contract.resources = limits }
            let warning = "MemoryMax=, IOWeight= without effect: systemd does not say that its unit has Delegate=yes"
            let without = Containment(reason: "systemd does not say that its unit has Delegate=yes")
            let (first, second) = (try without.enter(run), try without.enter(run))
            #expect(first.warnings == [warning] && second.warnings.isEmpty)
        }
    }

    @Test func whatARunHasUsedIsReadFromItsCgroup() throws {
        try Folder.with { folder in
            try folder.write("memory.peak", "4096000\n")
            try folder.write("cpu.stat", "usage_usec 1234\nuser_usec 1000\nsystem_usec 234\n")
            try folder.write("io.stat", "8:0 rbytes=100 wbytes=20 rios=1\n8:16 rbytes=1 wbytes=2\n")
            let usage = ResourceUsage(of: ControlGroup(path: Array(folder.path.utf8)))
            #expect(usage.peakMemory == 4_096_000 && usage.processorTime == 1234)
            #expect(usage.bytesRead == 101 && usage.bytesWritten == 22)
            #expect(!ResourceUsage(of: ControlGroup(path: Array(folder["none"].utf8))).isKnown)
        }
    }
}
