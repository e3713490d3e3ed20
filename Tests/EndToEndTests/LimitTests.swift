import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// A limit is a delay: what is used up comes back, and nothing is lost meanwhile.
@Suite("Limits, end to end", .ownThread) struct LimitTests {
    @Test func exhaustedDescriptorsAreWaitedFor() throws {
        let text = """
            [Descriptor lines]
            ListenFIFO=@/fifo
            Key=one
            Coalesce=yes
            Exec=/bin/cat
            StandardInput=lines
            StandardOutput=append:@/lines
            [Path in]
            Path=@/in
            Key=one
            Exec=/bin/cat
            StandardInput=paths
            StandardOutput=append:@/paths
            [Signal on]
            Signal=RTMIN
            Exec=/bin/cat
            StandardOutput=append:@/signals
            """
        let launcher = ["prlimit", "--nofile=64:64", "--"]
        try Watchd.run(text, launcher: launcher, prepare: { try $0.makeFolder("in") }) { watchd in
            var clients: [RawConnection] = []
            for _ in 0..<80 { clients.append(try RawConnection(watchd.socket)) }
            let descriptors = { try Linux.readFolder("/proc/\(watchd.processID)/fd").count }
            try wait(for: "its descriptors to be used up") { try descriptors() >= 62 }
            for number in 1...20 {
                try watchd.folder.append("fifo", "\(number)\n")
                try watchd.folder.write("in/\(number)", "")
                #expect(sigqueue(watchd.processID, 34, sigval(sival_int: 1)) == 0)
            }
            try wait(for: "it to say so") { watchd.logText.contains("trying again") }
            #expect(!watchd.hasEnded)
            clients.removeAll()
            try wait(for: "all lines") { Set(watchd.folder.lines("lines")) == Set((1...20).map { "\($0)" }) }
            let paths = Set((1...20).map { watchd.folder["in/\($0)"] })
            try wait(for: "all files") { Set(watchd.folder.lines("paths")) == paths }
            try wait(for: "all signals") {
                watchd.folder.text("signals").occurrences(of: "\"kind\":\"signal\"") == 20
            }
            let totals = try watchd.waitUntilIdle()
            #expect((totals.failed, totals.dropped) == (0, 0))
            try wait(for: "its problems to be over") { try watchd.status().problems.isEmpty }
        }
    }

    @Test(arguments: [12, 24, 39]) func tooFewDescriptorsAreNamedAtTheStart(_ count: Int) throws {
        try Folder.with { folder in
            try folder.write("watch", "[Watchd]\nControlSocket=\(folder["s"])\nStateDirectory=\(folder["state"])\n")
            let watchd = try Products.path("watchd")
            let end = try Program.run(["prlimit", "--nofile=\(count):\(count)", "--", watchd, folder["watch"]])
            #expect(end.code == 1, "\(end)")
            #expect(end.errorText.contains("only \(count) descriptors are allowed"), "\(end)")
            #expect(end.errorText.contains("at least 40; raise LimitNOFILE="), "\(end)")
        }
    }

    /// A FIFO of a durable queue needs a pipe beside it.
    @Test(arguments: [(isDurable: false, limit: 44), (true, 64)])
    func sourcesLeaveDescriptorsToTheRunsOfTheirEvents(isDurable: Bool, limit: Int) throws {
        let names = (1...30).map { "fifo\($0)" }
        let text = names.map { "[Descriptor \($0)]\nListenFIFO=@/\($0)\nHandler=copy\n" }.joined()
        let handler =
            "[Handler copy]\nExec=/bin/cat\nStandardInput=lines\nStandardOutput=append:@/lines\nQueue=q\n"
            + "[Queue q]\nType=concurrent\nWidth=8\nDurable=\(isDurable ? "yes" : "no")\n"
        let launcher = ["prlimit", "--nofile=\(limit):\(limit)", "--"]
        try Watchd.run(text + handler, launcher: launcher) { watchd in
            var (armed, refused) = ([String](), [String]())
            for source in try watchd.call(ListSources.self, .init()).sources {
                let name = String(source.name.dropFirst("descriptor/".count))
                if source.state == .armed { armed.append(name) }
                guard let reason = source.reason, reason.contains("kept for handlers") else { continue }
                refused.append(name)
                #expect(reason.contains("raise LimitNOFILE="))
            }
            #expect(!armed.isEmpty && armed.count + refused.count == names.count, "\(armed) \(refused)")
            for round in 1...3 {
                for name in armed { try watchd.folder.append(name, "\(name) \(round)\n") }
            }
            let wanted = Set(armed.flatMap { name in (1...3).map { "\(name) \($0)" } })
            // A run that lacks a descriptor is tried again when another one ends.
            try wait(for: "all lines") { Set(watchd.folder.lines("lines")) == wanted }
        }
    }

    @Test func clientsOfASourceThatUseUpTheDescriptorsAreSeenByWhoAsks() throws {
        let text = """
            [Descriptor talk]
            ListenStream=@/talk
            MaxConnections=5000
            Log=%{line}
            """
        let launcher = ["prlimit", "--nofile=64:64", "--"]
        try Watchd.run(text, launcher: launcher) { watchd in
            var clients: [RawConnection] = []
            for _ in 0..<80 { clients.append(try RawConnection(watchd.folder["talk"])) }
            var tries: Set<String> = []
            try wait(for: "the source to try in vain, and be asked meanwhile") {
                for problem in try watchd.status().problems where problem.problem.contains("EMFILE") {
                    if let next = problem.nextTry { tries.insert(next) }
                }
                return tries.count >= 3
            }
            #expect(!watchd.logText.contains("armed again"))
            #expect(!watchd.logText.contains("clients cannot be accepted"))
            clients.removeAll()
            try wait(for: "it to be armed again") { try watchd.status().problems.isEmpty }
            try watchd.waitForLog("armed again")
        }
    }

    /// The queue ends in the middle of a file's two events, or between two files.
    @Test(arguments: [0, 1]) func anOverflowOfTheKernelsQueueLosesNoFile(_ before: Int) throws {
        let limit =
            Int(
                String(decoding: try Linux.readFile("/proc/sys/fs/inotify/max_queued_events"), as: UTF8.self)
                    .split(separator: "\n").first ?? "") ?? 16_384
        guard limit <= 65_536 else {
            print("SKIPPED: fs.inotify.max_queued_events=\(limit) is too large to overflow in a test")
            return
        }
        let text = """
            [Path in]
            Path=@/in
            Events=written deleted
            Key=one
            Exec=/bin/cat
            StandardInput=paths
            StandardOutput=append:@/copy
            """
        let old = 20
        let prepare: (Folder) throws -> Void = { folder in
            try folder.makeFolder("in")
            for number in 1...old { try folder.write("in/old\(number)", "old") }
        }
        try Watchd.run(text, settings: "LogLevel=notice", prepare: prepare) { watchd in
            watchd.send(SIGSTOP)
            try wait(for: "it to stand still") {
                let status = try Linux.readFile("/proc/\(watchd.processID)/stat")
                return String(decoding: status, as: UTF8.self).contains(") T ")
            }
            if before == 1 { try Linux.unlink(watchd.folder["in/old1"]) }
            // Each file is made and closed: two events.
            let count = limit / 2 + 500
            for number in 1...count { try watchd.folder.write("in/\(number)".pathBytes, []) }
            for number in (1 + before)...old / 2 { try Linux.unlink(watchd.folder["in/old\(number)"]) }
            for number in (old / 2 + 1)...old { try watchd.folder.append("in/old\(number)", "more") }
            watchd.send(SIGCONT)
            let names = (1...count).map { "\($0)" } + (1...old).map { "old\($0)" }
            let wanted = Set(names.map { watchd.folder["in/\($0)"] })
            var seen: Set<String> = []
            try wait(for: "every file; missing are \(wanted.subtracting(seen).prefix(10))", seconds: 60) {
                guard try watchd.source("in").counters.outstanding == 0 else { return false }
                seen = Set(watchd.folder.lines("copy"))
                return seen.count >= wanted.count
            }
            #expect(seen == wanted)
            #expect(try watchd.waitUntilIdle().dropped == 0)
            try watchd.folder.write("in/afterwards", "")
            try wait(for: "the next file") { watchd.folder.lines("copy").contains(watchd.folder["in/afterwards"]) }
        }
    }

    @Test func maxOperationsHoldsSourcesBackLikeAFullQueue() throws {
        let text = """
            [Custom poke]
            Log=%{data}
            Key=none
            Coalesce=no
            Queue=off
            [Queue off]
            Suspended=yes
            """
        try Watchd.run(text, settings: "MaxOperations=5") { watchd in
            for _ in 1...5 { try watchd.emit("poke") }
            let waiting = try watchd.connect()
            #expect(throws: ClientError.self) {
                try waiting.call(Emit.fullName, Emit.Parameters(name: "poke"), timeout: 200)
            }
            try watchd.resume("off")
            try wait(for: "all six") { try watchd.status().totals.done == 6 }
        }
    }
}
