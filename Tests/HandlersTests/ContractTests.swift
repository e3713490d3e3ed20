import EventSources
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import Engine
@testable import Handlers

/// What a handler's process contract makes of its child, as the child itself sees it in `/proc`.
@Suite("Process contract", .ownThread) struct ContractTests {
    private struct Row {
        var name: String
        var script: String
        var output: String
        var change: (inout ProcessContract) -> Void
    }

    private func request(
        _ number: UInt64, _ script: String, qos: QoS = .default, _ change: (inout ProcessContract) -> Void
    ) -> StartRequest {
        let words = ["/bin/sh", "-c", script].map { Command.Word.template(Template(literal: $0)) }
        var definition = HandlerDefinition(name: "h", action: .exec([Command(words: words)]))
        definition.standardInput = .null
        change(&definition.contract)
        return StartRequest(
            run: RunID(operation: number, attempt: 1), definition: SharedDefinition(definition), queue: "q",
            qos: qos, environment: [], origin: .source(SourceID(.custom, "c")),
            events: [Event(id: 1, time: 0, fact: .custom(CustomFact(data: 1)))])
    }

    private func limit(_ name: String) -> String { "grep '^\(name)  ' /proc/self/limits | tr -s ' '" }

    private var rows: [Row] {
        [
            Row(name: "UMask", script: "umask", output: "0077") { $0.mask = 0o077 },
            Row(name: "none", script: "umask", output: "0022") { _ in },
            Row(name: "Nice", script: "nice", output: "7") { $0.nice = 7 },
            Row(name: "IO", script: "ionice", output: "best-effort: prio 3") {
                $0.io = IOScheduling(.bestEffort, level: 3)
            },
            Row(name: "IO idle", script: "ionice", output: "idle") { $0.io = IOScheduling(.idle) },
            Row(name: "CPU", script: "chrt -p $$ | head -1 | sed 's/.*: //'", output: "SCHED_BATCH") {
                $0.cpu = CPUScheduling(.batch)
            },
            Row(name: "OOM", script: "cat /proc/self/oom_score_adj", output: "321") { $0.oomScoreAdjust = 321 },
            Row(name: "NNP", script: "sed -n 's/NoNewPrivs:.//p' /proc/self/status", output: "1") {
                $0.hasNoNewPrivileges = true
            },
            Row(name: "NOFILE", script: limit("Max open files"), output: "Max open files 5 7 files ") {
                $0.limits = [ResourceLimit(.nofile, soft: 5, hard: 7)]
            },
            Row(name: "CORE", script: limit("Max core file size"), output: "Max core file size 0 4096 bytes ") {
                $0.limits = [ResourceLimit(.core, soft: 0, hard: 4096)]
            },
            Row(name: "CPU time", script: limit("Max cpu time"), output: "Max cpu time 50 60 seconds ") {
                $0.limits = [ResourceLimit(.cpu, soft: 50, hard: 60)]
            },
        ]
    }

    @Test func isWhatTheChildSees() throws {
        let own = try Linux.readFile("/proc/self/oom_score_adj")
        try Rim.with { rim in
            for (index, row) in rows.enumerated() { rim.start(request(UInt64(index + 1), row.script, row.change)) }
            try wait(for: "all ends") { rim.ended.count == rows.count }
            let ended = rim.ended
            for (index, row) in rows.enumerated() {
                let end = ended[RunID(operation: UInt64(index + 1), attempt: 1)]
                #expect(end.map { String(decoding: $0.output, as: UTF8.self) } == row.output + "\n", "\(row.name)")
            }
        }
        #expect(try Linux.readFile("/proc/self/oom_score_adj") == own, "the daemon's is as it was")
    }

    @Test func aNiceValueOfItsOwnWinsOverTheQueues() throws {
        try Rim.with { rim in
            rim.start(request(1, "nice; ionice", qos: .background) { $0.nice = 3 })
            try wait(for: "the end") { rim.ended.count == 1 }
            #expect(rim.ended.values.map { String(decoding: $0.output, as: UTF8.self) } == ["3\nidle\n"])
        }
    }
}
