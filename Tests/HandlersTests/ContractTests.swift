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

    private func status(_ fields: String) -> String { "grep -E '^(\(fields)):' /proc/self/status | tr -s '\t ' ' '" }

    /// Only root can become somebody else.
    private var rowsOfRoot: [Row] {
        let all = "Uid|Gid|Groups"
        let nobody = "Uid: 65534 65534 65534 65534\nGid: 65534 65534 65534 65534\nGroups: 65534 "
        return [
            Row(name: "User", script: status(all), output: nobody) { $0.user = "nobody" },
            Row(name: "User by number", script: status(all), output: nobody) { $0.user = "65534" },
            Row(
                name: "User that nobody is", script: status(all),
                output: "Uid: 4711 4711 4711 4711\nGid: 12 12 12 12\nGroups: 12 "
            ) {
                ($0.user, $0.group) = ("4711", "12")
            },
            Row(name: "Group", script: status(all), output: "Uid: 65534 65534 65534 65534\nGid: 4 4 4 4\nGroups: 4 ") {
                ($0.user, $0.group) = ("nobody", "adm")
            },
            Row(name: "Group alone", script: status("Uid|Gid"), output: "Uid: 0 0 0 0\nGid: 4 4 4 4") {
                $0.group = "4"
            },
            Row(name: "SupplementaryGroups", script: status("Groups"), output: "Groups: 4 4711 65534 ") {
                ($0.user, $0.supplementaryGroups) = ("nobody", ["adm", "4711"])
            },
            Row(
                name: "capabilities", script: status("CapEff|CapPrm"),
                output: "CapPrm: 0000000000000000\nCapEff: 0000000000000000"
            ) {
                $0.user = "nobody"
            },
            Row(
                name: "variables of User", script: "echo $HOME $USER $LOGNAME $SHELL",
                output: "/var/www www-data www-data /usr/sbin/nologin"
            ) {
                $0.user = "www-data"
            },
            Row(name: "limits come before", script: "ulimit -Hn; nice; id -u", output: "\(hardLimit)\n-3\n65534") {
                ($0.user, $0.nice) = ("nobody", -3)
                $0.limits = [ResourceLimit(.nofile, soft: 10, hard: hardLimit)]
            },
            Row(
                name: "NoNewPrivileges beside User", script: status("NoNewPrivs|Uid"),
                output: "Uid: 65534 65534 65534 65534\nNoNewPrivs: 1"
            ) {
                ($0.user, $0.hasNoNewPrivileges) = ("nobody", true)
            },
            Row(name: "/dev/stdout", script: "echo out >/dev/stdout; echo err >/dev/stderr", output: "out\nerr") {
                $0.user = "nobody"
            },
            Row(name: "descriptors", script: "echo $(ls /proc/self/fd)", output: "0 1 2 3") { $0.user = "nobody" },
            Row(name: "home", script: "pwd; readlink /proc/self/cwd", output: "/usr/sbin\n/usr/sbin") {
                ($0.user, $0.startsAtHome) = ("daemon", true)
            },
        ]
    }

    private var hardLimit: UInt64 { (try? Linux.openFileLimit().hard) ?? 0 }

    @Test(.enabled(if: Linux.effectiveUserID == 0, "only root can become somebody else"))
    func isWhoTheChildIs() throws {
        try Rim.with { rim in
            for (index, row) in rowsOfRoot.enumerated() {
                rim.start(request(UInt64(index + 1), row.script, row.change))
            }
            try wait(for: "all ends") { rim.ended.count == rowsOfRoot.count }
            for (index, row) in rowsOfRoot.enumerated() {
                let output = rim.output(of: RunID(operation: UInt64(index + 1), attempt: 1))
                #expect(output == row.output + "\n", "\(row.name)")
            }
        }
        #expect(Linux.effectiveUserID == 0 && Linux.groups == Linux.groups, "the daemon is who it was")
    }

    @Test func aUserGroupOrFileThatIsMissingIsASentence() throws {
        let rows: [(sentence: String, change: (inout ProcessContract) -> Void)] = [
            ("User=no-such-user: there is no such user", { $0.user = "no-such-user" }),
            ("User=4711: there is no such user; with Group= it needs none", { $0.user = "4711" }),
            ("Group=no-such-group: there is no such group", { $0.group = "no-such-group" }),
            (
                "SupplementaryGroups=no-such-group: there is no such group",
                { $0.supplementaryGroups = ["no-such-group"] }
            ),
            (
                "EnvironmentFile=/no/such: No such file or directory (ENOENT)",
                { $0.environmentFiles = [EnvironmentFile(path: Array("/no/such".utf8))] }
            ),
            (
                "EnvironmentFile=/: Is a directory (EISDIR)",
                { $0.environmentFiles = [EnvironmentFile(path: Array("/".utf8))] }
            ),
        ]
        try Rim.with { rim in
            for (index, row) in rows.enumerated() { rim.start(request(UInt64(index + 1), "true", row.change)) }
            try wait(for: "all ends") { rim.notStarted.count == rows.count }
            let reasons = rim.notStarted
            for (index, row) in rows.enumerated() {
                #expect(reasons[RunID(operation: UInt64(index + 1), attempt: 1)] == row.sentence)
            }
        }
    }

    @Test func theEnvironmentIsBuiltInTheOrderOfSystemd() throws {
        try withTemporaryFolder { folder throws in
            try Linux.writeFile("\(folder)/first", "A=first\nB='first'\n# C=no\nC=\"first\"\n1D=x\nWATCHD_PATH=x\n")
            try Linux.writeFile("\(folder)/second", "C=second\n")
            try Rim.with { rim in
                var request = request(1, "echo $PATH $A $B $C $D $WATCHD_PATH") { contract in
                    contract.environmentFiles = ["first", "missing", "second"].map {
                        EnvironmentFile(path: "\(folder)/\($0)".pathBytes, isOptional: $0 == "missing")
                    }
                    contract.passedEnvironment = ["PATH", "NO_SUCH_VARIABLE"]
                }
                var definition = request.definition.value
                definition.environment = [("A", "own"), ("D", "own")].map {
                    EnvironmentVariable(name: $0.0, value: Array($0.1.utf8))
                }
                request.definition = SharedDefinition(definition)
                rim.start(request)
                try wait(for: "the end") { rim.ended.count == 1 }
                let path = String(decoding: Linux.environment("PATH") ?? [], as: UTF8.self)
                #expect(rim.output(of: request.run) == "\(path) first first second own\n")
            }
        }
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
