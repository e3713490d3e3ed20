import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Clients of the control socket that want all of it, and a control context that hangs.
@Suite("The control socket in trouble, end to end", .ownThread) struct ControlTroubleTests {
    private static let asNobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    private static let hasPython = (try? Program.run(["sh", "-c", "command -v python3"]))?.code == 0

    /// Each of 32 connections has 20 calls on their way at any time.
    private static let crowd = """
        import select, socket, sys
        call = b'{"method":"io.watchd.Manager.GetStatus"}\\0'
        crowd = []
        for n in range(32):
            s = socket.socket(socket.AF_UNIX)
            s.connect(sys.argv[1])
            s.sendall(call * 20)
            crowd.append(s)
        answers = 0
        while True:
            for s in select.select(crowd, [], [])[0]:
                ends = s.recv(1 << 16).count(b"\\0")
                s.sendall(call * ends)
                answers += ends
                if answers >= 640 > answers - ends:
                    print("busy", flush=True)
        """

    @Test func aSocketFileThatIsRemovedIsMadeAgain() throws {
        try Watchd.run("[Custom poke]\nExec=/bin/true\n") { watchd in
            // A client that has a connection keeps it.
            let client = try watchd.connect()
            for round in 1...2 {
                try Linux.unlink(watchd.socket)
                try wait(for: "another one, round \(round)") { (try? watchd.emit("poke")) != nil }
            }
            try watchd.waitForLog("was removed; it is made again")
            let reply: GetStatus.Reply = try client.call(GetStatus.fullName, GetStatus.Parameters(), timeout: 30_000)
                .parameters()
            #expect(reply.problems.isEmpty)
        }
    }

    @Test(.enabled(if: Linux.effectiveUserID == 0 && hasPython, "needs root, who lends a user, and python3"))
    func aCrowdOfCallsHoldsUpNeitherRootNorTheWatchdog() throws {
        let seconds = 10
        let broken = (1...100).map { "[Process gone\($0)]\nPIDFile=@/none/\($0)/pid\nExec=true\n" }.joined()
        try Folder.with { folder in
            let watchd = try Watchd(folder, broken, watchdog: seconds * 1_000_000)
            try watchd.waitUntilReady()
            let crowd = try Self.startCrowd(at: watchd.socket, telling: folder["told"])
            try wait(for: "the crowd to be served") { folder.text("told").contains("busy") }
            watchd.forgetNotifications()
            for _ in 1...20 {
                let answer = try watchd.control("--timeout", "\(seconds)s", "status")
                #expect(answer.code == 0, "\(answer)")
            }
            try watchd.waitForNotification("WATCHDOG=1")
            #expect(!crowd.hasEnded)
            crowd.send(SIGKILL)
            crowd.wait()
            try watchd.stop()
        }
    }

    /// Each of 32 connections sends a message of 300 KB, says when it is answered, and sends it once more.
    private static let largeMessages = """
        import select, socket, sys
        members = b'"k":1,' * 50000
        call = b'{"method":"io.watchd.Manager.ListSources","parameters":{' + members + b'"limit":1.5}}\\0'
        left = {}
        for n in range(32):
            s = socket.socket(socket.AF_UNIX)
            s.connect(sys.argv[1])
            s.setblocking(False)
            left[s] = call
        while True:
            readable, writable, _ = select.select(list(left), [s for s in left if left[s]], [])
            for s in writable:
                left[s] = left[s][s.send(left[s]):]
            for s in readable:
                s.recv(1 << 16)
                left[s] = call
                print("answered", flush=True)
        """

    /// Root waits for a message or two, not for a turn of four and another one.
    @Test(.enabled(if: Linux.effectiveUserID == 0 && hasPython, "needs root, who lends a user, and python3"))
    func aCrowdOfLargeMessagesLetsRootPass() throws {
        try Watchd.run("[Custom poke]\nExec=true\n") { watchd in
            let told = watchd.folder["told"]
            let crowd = try Self.startCrowd(at: watchd.socket, telling: told, Self.largeMessages)
            try wait(for: "the crowd to be served") { watchd.folder.lines("told").count >= 2 }
            // Whoever is slow here sees more of them: one time is enough.
            var passed: [Int] = []
            try wait(for: "an answer before the most, not after \(passed)") {
                let before = watchd.folder.lines("told").count
                _ = try watchd.status()
                passed.append(watchd.folder.lines("told").count - before)
                return passed.last ?? .max <= 3
            }
            #expect(!crowd.hasEnded, "there were others to pass")
            crowd.send(SIGKILL)
            crowd.wait()
        }
    }

    private static func startCrowd(at socket: String, telling file: String, _ program: String = crowd) throws -> Program
    {
        let words = asNobody + ["python3", "-c", program, socket]
        let output = try Linux.open(file, [.writing, .creating]).release()
        defer { FileDescriptor(owning: output).close() }
        return try Program(
            words.map { Array($0.utf8) }, environment: Program.environment, descriptors: [output, output, output])
    }

    /// The thread that sends a reply does not come back from the call for ten minutes.
    private static let hangingSend = """
        #include <sys/types.h>
        #include <unistd.h>
        ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
            write(2, "hanging\\n", 8);
            sleep(600);
            return count;
        }
        """

    @Test func aStopDoesNotWaitForAControlContextThatHangs() throws {
        try Folder.with { folder in
            try folder.write("hang.c", Self.hangingSend)
            // Swift's own compiler of C is where swift is.
            let path = "PATH=" + String(decoding: Linux.environment("PATH") ?? [], as: UTF8.self)
            let compiled = try Program.run([
                "env", path, "clang", "-shared", "-fPIC", "-o", folder["hang.so"], folder["hang.c"],
            ])
            try #require(compiled.code == 0, "\(compiled)")
            let watchd = try Watchd(folder, "", launcher: ["env", "LD_PRELOAD=\(folder["hang.so"])"])
            try watchd.waitUntilReady()
            let asking = try RawConnection(watchd.socket)
            try asking.send(message: #"{"method":"io.systemd.service.Ping"}"#)
            try watchd.waitForLog("hanging")
            watchd.send(SIGTERM)
            #expect(watchd.waitForEnd(seconds: 30) == .exited(0))
            #expect(watchd.logText.contains("stopped: nothing accepted"))
            withExtendedLifetime(asking) {}
        }
    }
}
