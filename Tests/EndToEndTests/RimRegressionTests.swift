import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import SeedKit
import Testing
import Varlink

/// What a review of the rim once found: each of these was lost, leaked, hung or spun.
@Suite("The rim, once broken", .ownThread) struct RimRegressionTests {
    private static let path = """
        [Path in]
        Path=@/releases/current/in
        Exec=@/record
        Queue=main

        """

    @Test func aFolderAboveThatIsReplacedByARenameIsFollowed() throws {
        try Watchd.run(Self.path) { watchd in
            for release in ["one", "two"] {
                try watchd.folder.makeFolder("releases-\(release)")
                try watchd.folder.makeFolder("releases-\(release)/in")
            }
            try watchd.folder.makeFolder("releases")
            let (current, new) = (watchd.folder["releases/current"], watchd.folder["releases/new"])
            try Linux.symlink(current, to: watchd.folder["releases-one"])
            try wait(for: "the source to be armed") { try watchd.source("in").state == .armed }
            try watchd.folder.write("releases/current/in/a", "a")
            _ = try watchd.waitForRuns(1)
            try Linux.symlink(new, to: watchd.folder["releases-two"])
            try Linux.rename(new, to: current)
            // Whatever it finds while it looks again, the file of the new release is told.
            try watchd.folder.write("releases/current/in/b", "b")
            try wait(for: "the file of the new release") {
                try watchd.waitForRuns(1).contains { $0["WATCHD_PATH"]?.hasSuffix("/in/b") == true }
            }
        }
    }

    @Test func aFolderThatWentWhileTheKernelsQueueOverflowedIsFoundAgain() throws {
        let limit = try Linux.readFile("/proc/sys/fs/inotify/max_queued_events", limit: 64)
        let count = try #require(Int(String(decoding: limit.dropLast(), as: UTF8.self)))
        let text = """
            [Path in]
            Path=@/in
            Exec=@/record
            Queue=main
            StandardInput=null

            """
        try Watchd.run(text) { watchd in
            try watchd.folder.makeFolder("in")
            try wait(for: "the source to be armed") { try watchd.source("in").state == .armed }
            watchd.send(SIGSTOP)
            for index in 0..<(count / 2 + 100) {
                try watchd.folder.write("in/f", "\(index)")
                try Linux.unlink(watchd.folder["in/f"])
            }
            try Linux.rmdir(watchd.folder["in"])
            try watchd.folder.makeFolder("in")
            watchd.send(SIGCONT)
            try wait(for: "the source to be armed again") { try watchd.source("in").state == .armed }
            try watchd.folder.write("in/later", "x")
            try wait(for: "the later file") {
                try watchd.waitForRuns(1).contains { $0["WATCHD_PATH"]?.hasSuffix("/in/later") == true }
            }
        }
    }

    @Test func aPathThatCannotComeToBeDoesNotKeepTheOthersFrom() throws {
        let text = """
            [Path in]
            Path=@/file/below @/in
            Exec=@/record
            Queue=main

            """
        try Watchd.run(text) { watchd in
            try watchd.folder.write("file", "not a folder")
            try watchd.folder.makeFolder("in")
            try wait(for: "the folder's file to be told") {
                try watchd.folder.write("in/a", "a")
                return try watchd.source("in").counters.accepted > 0
            }
        }
    }

    @Test func aPidFileThatIsAFIFOHoldsNobodyUp() throws {
        try Watchd.run("[Process other]\nPIDFile=@/pid\nLog=ended\n") { watchd in
            try Linux.mkfifo(watchd.folder["pid"])
            try wait(for: "the source to say so") { try watchd.source("other").state == .failed }
            #expect(try watchd.status().state == .running)
        }
    }

    @Test func linesBeyondTheBacklogWaitAndNoneIsLost() throws {
        let text = """
            [Queue narrow]
            Type=serial
            Backlog=10

            [Descriptor lines]
            ListenFIFO=@/fifo
            Log=%{line}
            Queue=narrow

            """
        try Watchd.run(text) { watchd in
            try watchd.suspend("queue/narrow")
            let count = LongPart.count(4_000, long: 20_000)
            try watchd.folder.append("fifo", String(repeating: "x\n", count: count))
            try wait(for: "the source to be held back") { try watchd.source("lines").state == .held }
            try watchd.resume("queue/narrow")
            try wait(for: "every line") { try watchd.source("lines").counters.done == count }
            #expect(try watchd.source("lines").counters.dropped == 0)
        }
    }

    @Test func aFollowerOfAnythingDoesNoHarm() throws {
        try Watchd.run("[Custom poke]\nLog=poked\n") { watchd in
            for since in ["-9223372036854775808", "9223372036854775807", "0"] {
                let client = try RawConnection(watchd.socket)
                try client.send(
                    message: #"{"method":"io.watchd.Manager.Follow","parameters":{"since":\#(since)},"more":true}"#)
            }
            try watchd.emit("poke")
            #expect(try watchd.status().state == .running)
        }
    }

    @Test func aClientThatGoesWhileItsCallsWaitIsForgotten() throws {
        try Watchd.run("[Custom poke]\nLog=poked\n") { watchd in
            do {
                let client = try RawConnection(watchd.socket)
                try client.send(message: #"{"method":"io.watchd.Manager.Follow","more":true}"#)
                for _ in 0..<100 { try client.send(message: #"{"method":"io.watchd.Manager.GetStatus"}"#) }
            }
            let before = Self.processorTicks(watchd.processID)
            for _ in 0..<50 { _ = try watchd.status() }
            try wait(for: "the connection to be closed") { Self.sockets(watchd.processID) <= 2 }
            // A spin would take all of it.
            #expect(Self.processorTicks(watchd.processID) - before < 300)
        }
    }

    /// Between two answers it is in no epoll set.
    @Test func aClientThatHasClosedOneHalfAndGoesWhileItWaitsIsForgotten() throws {
        try Watchd.run("[Queue q]\nSuspended=yes\n[Custom poke]\nLog=poked\nQueue=q\n") { watchd in
            try watchd.emit("poke")
            for _ in 0..<3 {
                let client = try RawConnection(watchd.socket)
                for _ in 0..<3 { try client.send(message: #"{"method":"io.watchd.Manager.GetStatus"}"#) }
                try client.send(
                    message: #"{"method":"io.watchd.Manager.Wait","parameters":{"name":"queue/q"},"more":true}"#)
                client.endOfInput()
                var answers = 0
                while answers < 3 { answers += try client.receive().count { $0 == 0 } }
            }
            try wait(for: "the connections to be closed") { Self.sockets(watchd.processID) <= 2 }
        }
    }

    /// A handler that has had the socket waits for its next client.
    @Test(arguments: ["ListenStream=@/other", ""])
    func aSocketThatAHandlerHasIsClosedWithoutAWait(instead: String) throws {
        let text = """
            [Descriptor ready]
            ListenStream=@/listener
            Framing=ready
            Exec=/bin/sh -c 'echo began >>@/began; until [ -e @/go ]; do [ -e @/watch ] || exit 1; sleep 0.02; done'
            StandardOutput=null
            [Custom poke]
            Log=poked
            """
        try Watchd.run(text) { watchd in
            let connect = "import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
            let client = try Program.run(["python3", "-c", connect, watchd.folder["listener"]])
            #expect(client.code == 0)
            try wait(for: "it to run") { !watchd.folder.lines("began").isEmpty }
            let poke = "[Custom poke]\nLog=poked\n"
            let other = text.replacing("ListenStream=@/listener", with: instead)
            try Watchd.write(instead.isEmpty ? poke : other, to: watchd.folder)
            #expect(try watchd.control("reload").code == 0)
            try watchd.emit("poke")
            try watchd.waitForLog("poked")
            try watchd.folder.write("go", "")
        }
    }

    @Test func aRunThatWaitsForDescriptorsEndsWithItsCancelAndHoldsNone() throws {
        let text = """
            [Custom poke]
            Exec=/bin/sh -c 'echo started >>@/started'
            Queue=main

            """
        try Watchd.run(text) { watchd in
            // The history is open for reading from its first question on.
            #expect(try watchd.control("history").code == 0)
            let free = try watchd.descriptors()
            try watchd.leaveDescriptors(2)
            try watchd.emit("poke")
            try wait(for: "the run to wait") { watchd.logText.occurrences(of: "trying again") >= 2 }
            // What the clients had is closed a moment after they went.
            try wait(for: "it to hold none") { try watchd.descriptors().count <= free.count + 1 }
            try watchd.call(Cancel.self, .init(id: 1))
            #expect(try watchd.waitForEnded(1, of: "poke").first?.result == .cancelled)
            try watchd.allowDescriptors(1024)
            try watchd.emit("poke")
            try watchd.waitForEnded(2, of: "poke")
            #expect(watchd.folder.lines("started").count == 1)
        }
    }

    /// A limit is a delay, never a death.
    @Test func theTimeOfARunBeginsWithItsProcess() throws {
        try Watchd.run("[Custom poke]\nExec=/bin/true\nTimeoutSec=300ms\n") { watchd in
            // The history is open for reading from its first question on.
            #expect(try watchd.control("history").code == 0)
            try watchd.leaveDescriptors(2)
            try watchd.emit("poke")
            try wait(for: "the run to wait") { watchd.logText.occurrences(of: "trying again") >= 2 }
            let waiting = try watchd.call(GetOperation.self, .init(id: 1)).operation.summary
            #expect(waiting.state == .ready && waiting.waitingFor?.hasPrefix("a process: ") == true, "\(waiting)")
            #expect(waiting.waitingFor?.contains("(EMFILE)") == true && waiting.started == nil)
            try watchd.allowDescriptors(1024)
            #expect(try watchd.waitForEnded(1, of: "poke").first?.result == .done)
        }
    }

    @Test func whatIsLeftOfATreeGetsTheTimeItWasPromised() throws {
        let text = """
            [Custom poke]
            Exec=/bin/sh -c '(trap "sleep 1; echo graceful >@/done; exit 0" TERM; while :; do sleep 0.1; done) & wait'
            TimeoutSec=5s
            TimeoutStopSec=20s
            Queue=main

            """
        try Watchd.run(text) { watchd in
            try watchd.emit("poke")
            let operation = try #require(try watchd.waitForEnded(1, of: "poke").first)
            #expect(operation.result == .failed)
            #expect(watchd.folder.text("done") == "graceful\n")
        }
    }

    /// User and system time so far, in hundredths of a second (`proc(5)`, fields 14 and 15 of stat).
    private static func processorTicks(_ process: Int32) -> Int {
        let text = (try? Linux.readFile("/proc/\(process)/stat", limit: 4096)) ?? []
        let fields = String(decoding: text, as: UTF8.self).split(separator: " ")
        return fields.count > 14 ? (Int(fields[13]) ?? 0) + (Int(fields[14]) ?? 0) : 0
    }

    private static func sockets(_ process: Int32) -> Int {
        let entries = (try? Linux.readFolder("/proc/\(process)/fd")) ?? []
        return entries.count { entry in
            let target =
                (try? Linux.readlink("/proc/\(process)/fd/\(String(decoding: entry.name, as: UTF8.self))")) ?? []
            return target.starts(with: Array("socket:".utf8))
        }
    }
}

extension Watchd {
    fileprivate func descriptors() throws -> [Int] {
        try Linux.readFolder("/proc/\(processID)/fd").compactMap { Int(String(decoding: $0.name, as: UTF8.self)) }
    }

    /// Lets it have this many more than it has.
    fileprivate func leaveDescriptors(_ count: Int) throws {
        let open = Set(try descriptors())
        var (limit, free) = (0, 0)
        while free < count {
            if !open.contains(limit) { free += 1 }
            limit += 1
        }
        try allowDescriptors(limit)
    }

    fileprivate func allowDescriptors(_ limit: Int) throws {
        let finished = try Program.run(["prlimit", "--pid", "\(processID)", "--nofile=\(limit):"])
        #expect(finished.code == 0, "\(finished)")
    }
}
