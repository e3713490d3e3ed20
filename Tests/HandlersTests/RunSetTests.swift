import EventSources
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import Engine
@testable import Handlers

@Suite("Runs", .ownThread) struct RunSetTests {
    private func request(
        _ run: RunID, _ script: String, qos: QoS = .default, environment: [EnvironmentVariable] = []
    ) -> StartRequest {
        let words = ["/bin/sh", "-c", script].map { Command.Word.template(Template(literal: $0)) }
        let definition = HandlerDefinition(name: "h", action: .exec([Command(words: words)]))
        return StartRequest(
            run: run, definition: SharedDefinition(definition), queue: "q", qos: qos, environment: environment,
            origin: .source(SourceID(.custom, "c")),
            events: [Event(id: 1, time: 0, fact: .custom(CustomFact(data: Int64(run.part))))])
    }

    @Test func aChildIsAsUrgentAsItsQueue() throws {
        try Rim.with { rim in
            for (index, qos) in QoS.allCases.enumerated() {
                rim.start(request(RunID(operation: UInt64(index + 1), attempt: 1), "nice; ionice", qos: qos))
            }
            try wait(for: "all to end") { rim.ended.count == QoS.allCases.count }
            let own = Linux.nice
            let inherited = rim.output(of: RunID(operation: 3, attempt: 1))
            #expect(inherited.hasPrefix("\(own)\n"), "default")
            #expect(rim.output(of: RunID(operation: 1, attempt: 1)) == inherited)
            #expect(rim.output(of: RunID(operation: 2, attempt: 1)) == inherited)
            #expect(rim.output(of: RunID(operation: 4, attempt: 1)) == "\(min(19, own + 5))\nbest-effort: prio 6\n")
            #expect(rim.output(of: RunID(operation: 5, attempt: 1)) == "\(min(19, own + 10))\nidle\n")
        }
    }

    @Test func withoutACgroupItsProcessAndWhatThatWaitedForAreCounted() throws {
        try Rim.with { rim in
            let run = RunID(operation: 1, attempt: 1)
            rim.start(request(run, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sh -c 'exit 3'"))
            try wait(for: "its end") { rim.ended[run] != nil }
            let used = try #require(rim.used[run])
            #expect(used.isOfProcess && used.processorTime ?? 0 > 1000 && used.bytesWritten != nil, "\(used)")
            let none = RunID(operation: 2, attempt: 1)
            rim.start(request(none, "kill -KILL $$"))
            try wait(for: "its end") { rim.ended[none] != nil }
            #expect(rim.used[none]?.isOfProcess == true)
        }
    }

    @Test func theQueuesEnvironmentReachesTheCommand() throws {
        try Rim.with { rim in
            let run = RunID(operation: 1, attempt: 4)
            let variable = EnvironmentVariable(name: "OF_THE_QUEUE", value: [0xFF, 0x20])
            rim.start(request(run, "printf '%s %s' $WATCHD_ATTEMPT \"$OF_THE_QUEUE\"", environment: [variable]))
            try wait(for: "its end") { rim.ended[run] != nil }
            #expect(rim.ended[run]?.output == Array("4 ".utf8) + [0xFF, 0x20])
        }
    }

    @Test func thePartsOfAnOperationRunBesideEachOtherAndEndEachByItself() throws {
        try Folder.with { folder in
            for part in 0..<3 { try Linux.mkfifo(folder["gate\(part)"], mode: 0o600) }
            try Rim.with { rim in
                let parts = (0..<3).map { RunID(operation: 7, attempt: 2, part: $0) }
                let script = "echo begun $WATCHD_DATA; read x <\(folder["gate"])$WATCHD_DATA; echo let through"
                for part in parts { rim.start(request(part, script)) }
                try wait(for: "all three beside each other") { rim.started == Set(parts) }
                rim.signal(parts[1], 9)
                try wait(for: "the end of the one that was killed") { rim.ended[parts[1]] != nil }
                #expect(rim.ended.count == 1)
                for part in [0, 2] { try folder.append("gate\(part)", "\n") }
                try wait(for: "the end of the others") { rim.ended.count == 3 }
                #expect(parts.map { rim.ended[$0]?.exit } == [.exited(0), .signaled(9), .exited(0)])
                #expect(rim.output(of: parts[0]) == "begun 0\nlet through\n")
                #expect(rim.output(of: parts[2]) == "begun 2\nlet through\n")
            }
        }
    }

    @Test func manyThatAreAskedToEndAtOnceEndEachWithItsOwnGroup() throws {
        try Folder.with { folder in
            try Rim.with { rim in
                let runs = (0..<20).map { RunID(operation: 9, attempt: 1, part: $0) }
                for run in runs {
                    try Linux.mkfifo(folder["gate\(run.part)"], mode: 0o600)
                    let deaf = "trap '' TERM; : >\(folder["deaf\(run.part)"]); read x <\(folder["gate\(run.part)"])"
                    rim.start(request(run, "(\(deaf)) & wait"))
                }
                try wait(for: "all to be deaf") { runs.allSatisfy { folder.exists("deaf\($0.part)") } }
                for run in runs { rim.signal(run, 15) }
                let even = Set(runs.filter { $0.part.isMultiple(of: 2) })
                for run in even { try folder.append("gate\(run.part)", "\n") }
                try wait(for: "the end of every other one") { rim.ended.count == even.count }
                #expect(Set(rim.ended.keys) == even)
                for run in runs where !even.contains(run) { try folder.append("gate\(run.part)", "\n") }
                try wait(for: "the end of all") { rim.ended.count == runs.count }
                #expect(rim.ended.values.allSatisfy { $0.exit == .signaled(15) })
            }
        }
    }

    @Test func aRunOfASecondIsSaidToBeLongAndKeptUntilItsEnd() throws {
        try Folder.with { folder in
            for gate in ["gate0", "gate1"] { try Linux.mkfifo(folder[gate], mode: 0o600) }
            try Rim.with { rim in
                let long = (0..<2).map { RunID(operation: 8, attempt: 1, part: $0) }
                let started = Linux.now(.monotonic)
                for (index, run) in long.enumerated() { rim.start(request(run, "read x <\(folder["gate\(index)"])")) }
                try wait(for: "both to be long, and kept") { rim.long.count == 2 && rim.kept.count == 4 }
                #expect(Linux.now(.monotonic) - started >= 1_000_000)
                let names = ["pidfd-8-1-0", "output-8-1-0", "pidfd-8-1-1", "output-8-1-1"]
                #expect(Set(rim.kept) == Set(names.map { "keep \($0)" }))
                for gate in ["gate0", "gate1"] { try folder.append(gate, "\n") }
                try wait(for: "their end") { rim.ended.count == 2 }
                #expect(Set(rim.long) == Set(long) && rim.long.count == 2)
                #expect(rim.kept.count == 8)
                #expect(Set(rim.kept.suffix(4)) == Set(names.map { "forget \($0)" }))
            }
        }
    }

    @Test func aPlaceThatComesFreeGoesToTheOldestThatWaits() {
        let long = LongRuns(core: Context("test.core"))
        var late: [RunID] = []
        long.roomCame = { late.append($0) }
        let runs = (0..<LongRuns.limit + 3).map { RunID(operation: UInt64($0), attempt: 1) }
        #expect(runs.map(long.hasRoom).count { $0 } == LongRuns.limit)
        long.ended(runs[LongRuns.limit])
        #expect(late.isEmpty, "it had no place")
        long.ended(runs[3])
        #expect(late == [runs[LongRuns.limit + 1]])
        long.ended(late[0])
        #expect(late == Array(runs.suffix(2)))
        long.ended(runs[4])
        #expect(late.count == 2, "nobody waits any more")
        #expect(long.hasRoom(for: RunID(operation: 1000, attempt: 1)))
    }

    @Test func atMostSoManyAreKeptAtOnce() {
        let long = LongRuns(core: Context("test.core"))
        let runs = (0...LongRuns.limit).map { RunID(operation: UInt64($0), attempt: 1) }
        #expect(runs.map(long.hasRoom).count { $0 } == LongRuns.limit)
        long.ended(runs[7])
        #expect(long.hasRoom(for: runs[LongRuns.limit]))
        #expect(!long.hasRoom(for: RunID(operation: 1000, attempt: 1)))
    }
}
