import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

/// Attributes and limits of a handler's process.
@Suite("Process contract, end to end", .ownThread) struct ContractTests {
    @Test func attributesAndLimitsReachTheCommand() throws {
        let text = """
            [Custom poke]
            Exec=/bin/sh -c 'nice; umask; ulimit -Sn; ulimit -Hn; cat /proc/self/oom_score_adj'
            Nice=7
            UMask=0027
            LimitNOFILE=50:60
            OOMScoreAdjust=100
            """
        try Watchd.run(text) { watchd in
            try watchd.emit("poke")
            try watchd.waitUntilIdle()
            let run = try #require(try watchd.ended("poke").first)
            #expect(try watchd.operation(run.id).output == "7\n0027\n50\n60\n100\n")
        }
    }

    private struct Row {
        var keys: String
        var script: String
        var output: String
    }

    private static let status = "tr -s '\\t ' ' ' </proc/self/status"

    private static let rows = [
        Row(
            keys: "IOSchedulingClass=best-effort\nIOSchedulingPriority=3", script: "ionice",
            output: "best-effort: prio 3"),
        Row(keys: "IOSchedulingClass=idle", script: "ionice", output: "idle"),
        Row(keys: "CPUSchedulingPolicy=batch", script: "chrt -p $$ | sed 's/.*: //; q'", output: "SCHED_BATCH"),
        Row(keys: "NoNewPrivileges=yes", script: "\(status) | grep NoNewPrivs", output: "NoNewPrivs: 1"),
    ]

    private static let rowsOfRoot = [
        Row(
            keys: "CPUSchedulingPolicy=rr\nCPUSchedulingPriority=3", script: "chrt -p $$ | sed 's/.*: //'",
            output: "SCHED_RR\n3"),
        Row(
            keys: "User=daemon\nSupplementaryGroups=adm 4711", script: "\(status) | grep Groups",
            output: "Groups: 1 4 4711 "),
    ]

    @Test func whatAKeySaysOfTheProcessIsSeenThere() throws {
        let rows = Self.rows + (Linux.effectiveUserID == 0 ? Self.rowsOfRoot : [])
        let text = rows.enumerated().map { index, row in
            "[Custom c\(index)]\nExec=/bin/sh -c \"\(row.script)\"\n\(row.keys)\n"
        }
        try Watchd.run(text.joined()) { watchd in
            for index in rows.indices { try watchd.emit("c\(index)") }
            try watchd.waitUntilIdle()
            for (index, row) in rows.enumerated() {
                let run = try #require(try watchd.ended("c\(index)").first)
                #expect(try watchd.operation(run.id).output == row.output + "\n", "\(row.keys)")
            }
        }
    }

    /// `Limit…=`, as it is written, and its line of `/proc/self/limits`.
    private static let limits = [
        ("AS=8G:16G", "Max address space 8589934592 17179869184 bytes "),
        ("CORE=0:4096", "Max core file size 0 4096 bytes "), ("CPU=50:60", "Max cpu time 50 60 seconds "),
        ("DATA=8G:16G", "Max data size 8589934592 17179869184 bytes "),
        ("FSIZE=1M:2M", "Max file size 1048576 2097152 bytes "), ("LOCKS=50:70", "Max file locks 50 70 locks "),
        ("MEMLOCK=4K:8K", "Max locked memory 4096 8192 bytes "),
        ("MSGQUEUE=50:70", "Max msgqueue size 50 70 bytes "), ("NICE=0:0", "Max nice priority 0 0 "),
        ("NOFILE=50:70", "Max open files 50 70 files "), ("NPROC=500:700", "Max processes 500 700 processes "),
        ("RSS=8G:16G", "Max resident set 8589934592 17179869184 bytes "),
        ("RTPRIO=0:0", "Max realtime priority 0 0 "), ("RTTIME=50:70", "Max realtime timeout 50 70 us "),
        ("SIGPENDING=50:70", "Max pending signals 50 70 signals "),
        ("STACK=1M:2M", "Max stack size 1048576 2097152 bytes "),
    ]

    @Test func eachLimitIsThatOfTheProcess() throws {
        let keys = Self.limits.map { "Limit\($0.0)\n" }.joined()
        let text = "[Custom poke]\nExec=/bin/sh -c 'tr -s \" \" </proc/self/limits'\n\(keys)"
        try Watchd.run(text) { watchd in
            try watchd.emit("poke")
            try watchd.waitUntilIdle()
            let run = try #require(try watchd.ended("poke").first)
            let operation = try watchd.operation(run.id)
            let lines = operation.output?.split(separator: "\n").map(String.init) ?? []
            for (key, line) in Self.limits { #expect(lines.contains(line), "\(key): \(operation)") }
        }
    }

    @Test func anExitStatusThatPreventsARetryIsTheLast() throws {
        let text = """
            [Custom poke]
            Exec=/bin/sh -c 'echo tried >>@/tried; exit 3'
            Retry=5
            RetrySec=10ms
            RetryPreventExitStatus=3
            """
        try Watchd.run(text) { watchd in
            try watchd.emit("poke")
            try watchd.waitUntilIdle()
            let run = try #require(try watchd.ended("poke").first)
            #expect(run.result == .failed && run.exitStatus == 3)
            #expect(watchd.folder.lines("tried") == ["tried"])
        }
    }

    @Test(.enabled(if: Linux.effectiveUserID == 0, "only root can become somebody else"))
    func userGroupAndHomeReachHandlersSupervisedProcessesAndCommandsOfSources() throws {
        let keys = """
            User=daemon
            Group=adm
            WorkingDirectory=~
            PassEnvironment=A_VARIABLE_OF_THE_DAEMON
            """
        let told = "echo $(id -u) $(id -g) $(id -G) $HOME $USER $PWD $A_VARIABLE_OF_THE_DAEMON"
        let script = "/bin/sh -c '\(told); exec sleep 1000'"
        let text = """
            [Custom poke]
            Exec=/bin/sh -c '\(told)'
            \(keys)
            [Process web]
            Command=\(script)
            \(keys)
            [Descriptor lines]
            Command=\(script)
            \(keys)
            Handler=line
            [Handler line]
            Exec=/bin/echo %{line}
            """
        let expected = "1 4 4 /usr/sbin daemon /usr/sbin 1\n"
        try Watchd.run(text) { watchd in
            try watchd.emit("poke")
            try watchd.waitUntilIdle()
            for name in ["poke", "line"] {
                try wait(for: "a run of \(name)") { try watchd.ended(name).first != nil }
                let run = try #require(try watchd.ended(name).first)
                #expect(try watchd.operation(run.id).output == expected, "\(name)")
            }
            try wait(for: "the output of web") { try watchd.control("output", "web").text == expected }
        }
    }

    @Test func aUserThatDoesNotExistIsRefusedByCheckAndFailsTheAttempt() throws {
        let text = """
            [Custom poke]
            Exec=/bin/true
            User=no-such-user
            Retry=1
            RetrySec=10ms
            """
        try Watchd.run(text) { watchd in
            try watchd.emit("poke")
            try watchd.waitUntilIdle()
            let run = try #require(try watchd.ended("poke").first)
            let operation = try watchd.operation(run.id)
            #expect(operation.summary.reason == "User=no-such-user: there is no such user")
            #expect(operation.summary.attempt == 2)
        }
    }

    @Test func moreLinesThanACommandTakesBecomeSeveralRunsOfOneOperation() throws {
        let text = """
            [Queue held]
            [Descriptor lines]
            ListenFIFO=@/fifo
            Queue=held
            Key=all
            Coalesce=yes
            Exec=/bin/sh -c 'echo $#' sh %@
            StandardOutput=append:@/counts
            StandardInput=null
            """
        try Watchd.run(text) { watchd in
            try watchd.suspend("held")
            let line = Array(repeating: UInt8(ascii: "x"), count: 999) + [0x0A]
            try Linux.open(watchd.folder["fifo"], .writing).use { descriptor throws(SystemError) in
                for _ in 0..<5000 { try Linux.writeAll(descriptor, line) }
            }
            try wait(for: "all lines") { try watchd.handler("lines").counters.pending == 5000 }
            try watchd.resume("held")
            try watchd.waitUntilIdle()
            let operation = try #require(try watchd.ended("lines").first)
            #expect(operation.result == .done, "\(operation)")
            let counts = watchd.folder.lines("counts").compactMap { Int($0) }
            #expect(counts.count == 5 && counts.reduce(0, +) == 5000, "\(counts)")
        }
    }

    @Test func aLimitThatCannotBeSetIsAFailedAttemptThatNamesIt() throws {
        let text = """
            [Custom poke]
            Exec=/bin/true
            LimitNOFILE=infinity
            """
        try Watchd.run(text) { watchd in
            try watchd.emit("poke")
            try watchd.waitUntilIdle()
            let run = try #require(try watchd.ended("poke").first)
            let reason = try watchd.operation(run.id).summary.reason ?? ""
            #expect(reason.hasPrefix("setrlimit LimitNOFILE=infinity: Operation not permitted (EPERM)"))
        }
    }
}
