import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// Descriptors of every kind that the kernel has, with data that flows.
@Suite("Kernel interfaces, end to end", .ownThread) struct KernelInterfaceTests {
    private static let isRoot = Linux.userID == 0
    private static let hasPython = (try? Linux.stat("/usr/bin/python3")) != nil
    private static let hasPressure =
        (try? Linux.open("/proc/pressure/cpu", [.reading, .writing]).close()) != nil

    private static let ownBoot = ["/usr/bin/unshare", "--time", "--boottime", "100000"]
    private static let hasTimeNamespaces = (try? Program.run(ownBoot + ["true"]))?.code == 0

    private func python(_ script: String, _ words: String...) throws -> String {
        let finished = try Program.run(["/usr/bin/python3", "-c", script] + words)
        #expect(finished.code == 0, "\(finished.text)")
        return finished.text.split(separator: "\n").joined(separator: " ")
    }

    private func arguments(_ runs: [Recorded]) -> [String] {
        runs.map { String(decoding: $0.arguments.first ?? [], as: UTF8.self) }
    }

    @Test(.enabled(if: hasPython, "python3 is not there")) func messagesOfAQueueAreEvents() throws {
        let name = "/watchd-test-\(getpid())"
        let send = """
            import ctypes, os, sys
            lib = ctypes.CDLL(None, use_errno=True)
            queue = lib.mq_open(sys.argv[1].encode(), os.O_WRONLY)
            for text in sys.argv[2:]:
                if lib.mq_send(queue, text.encode(), len(text), 0): sys.exit(os.strerror(ctypes.get_errno()))
            """
        let remove = "import ctypes, sys; ctypes.CDLL(None).mq_unlink(sys.argv[1].encode())"
        defer { _ = try? python(remove, name) }
        let text = """
            [Descriptor queue]
            ListenMessageQueue=\(name)
            Exec=@/record %{line}
            Queue=main
            """
        try Watchd.run(text) { watchd in
            try wait(for: "the queue") { try watchd.source("queue").state == .armed }
            _ = try python(send, name, "one", "two words")
            #expect(arguments(try watchd.waitForRuns(2)) == ["one", "two words"])
        }
    }

    @Test(.enabled(if: isRoot && hasPython, "only root may send to a group of netlink"))
    func messagesOfANetlinkGroupAreEvents() throws {
        // As udev tells its listeners; the kernel itself, to whom it goes too, does not care.
        let send = """
            import socket, sys
            link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)
            try: link.sendto(sys.argv[1].encode(), (0, 8))
            except ConnectionRefusedError: pass
            """
        let text = """
            [Descriptor link]
            ListenNetlink=kobject-uevent 8
            Framing=datagram
            Include=^watchd
            Exec=@/record %{line}
            Queue=main
            """
        try Watchd.run(text) { watchd in
            try wait(for: "the socket") { try watchd.source("link").state == .armed }
            _ = try python(send, "watchd one")
            #expect(arguments(try watchd.waitForRuns(1)) == ["watchd one"])
        }
    }

    @Test(.enabled(if: hasPython, "python3 is not there")) func linesOfATerminalAreEvents() throws {
        let terminal = """
            import os, tty
            os.mkfifo("go")
            master, own = os.openpty()
            tty.setraw(own)
            os.symlink(os.ttyname(own), "terminal")
            open("go").read()
            os.write(master, b"one\\ntwo\\n")
            open("go").read()
            """
        let text = """
            [Descriptor terminal]
            ListenSpecial=@/terminal
            Exec=@/record %{line}
            Queue=main
            """
        try Watchd.run(text) { folder in
            try folder.write("terminal.py", terminal)
            let start = "cd \(folder.path) && /usr/bin/python3 terminal.py >/dev/null 2>&1 &"
            _ = try Program.run(["/bin/sh", "-c", start])
            try wait(for: "the terminal") { folder.exists("terminal") }
        } body: { watchd in
            try wait(for: "the terminal") { try watchd.source("terminal").state == .armed }
            try letGoOn(watchd.folder["go"])
            #expect(arguments(try watchd.waitForRuns(2)) == ["one", "two"])
            try letGoOn(watchd.folder["go"])
        }
    }

    /// Opens and closes a FIFO that a program waits at for a writer.
    private func letGoOn(_ fifo: String) throws {
        try wait(for: "the program to wait") {
            do throws(SystemError) {
                try Linux.open(fifo, [.writing, .nonBlocking]).close()
                return true
            } catch {
                // Nobody waits there yet.
                guard error.errno == Errno(ENXIO) else { throw error }
                return false
            }
        }
    }

    /// What the service manager does, done by hand.
    @Test(.enabled(if: hasPython, "python3 is not there")) func aSocketThatWasPassedIsFoundByItsName() throws {
        let launcher = """
            import os, socket, sys
            sockets = []
            for name in ["other", "in"]:
                sockets.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
                sockets[-1].bind(os.path.join(os.path.dirname(sys.argv[2]), name))
            numbers = [os.dup(one.fileno()) for one in sockets]
            for index, number in enumerate(numbers): os.dup2(number, 20 + index)
            for index in range(2): os.dup2(20 + index, 3 + index)
            os.environ.update(LISTEN_FDS="2", LISTEN_FDNAMES="other:in", LISTEN_PID=str(os.getpid()))
            os.closerange(5, 100)
            os.execv(sys.argv[1], sys.argv[1:])
            """
        let text = """
            [Descriptor in]
            FileDescriptorName=in
            Framing=datagram
            Exec=@/record %{line}
            Queue=main
            """
        try Folder.with { folder in
            try Recorded.install(in: folder)
            let watchd = try Watchd(folder, text, launcher: ["/usr/bin/python3", "-c", launcher])
            try watchd.waitUntilReady()
            let socket = try Linux.socket(for: .unix(folder["in"].pathBytes), .datagram, nonBlocking: false)
            try socket.use { number throws(SystemError) in
                try Linux.connect(number, .unix(folder["in"].pathBytes))
                try Linux.writeAll(number, "by name".utf8)
            }
            #expect(arguments(try watchd.waitForRuns(1)) == ["by name"])
            try watchd.stop()
        }
    }

    @Test(.enabled(if: hasPython, "python3 is not there")) func datagramsAndConnectionsOverIPv6AreEvents() throws {
        let free = """
            import socket
            for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
                one = socket.socket(socket.AF_INET6, kind)
                one.bind(("::1", 0))
                print(one.getsockname()[1])
            """
        let found = try Program.run(["/usr/bin/python3", "-c", free])
        // A machine without IPv6 has nothing to test.
        guard found.code == 0 else { return }
        let ports = found.text.split(separator: "\n")
        let send = """
            import socket, sys
            one = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            one.sendto(b"datagram", ("::1", int(sys.argv[1])))
            two = socket.create_connection(("::1", int(sys.argv[2])))
            two.sendall(b"line\\nrest")
            two.close()
            """
        let text = """
            [Descriptor udp]
            ListenDatagram=[::1]:\(ports[0])
            Exec=@/record %{line} %{peer}
            Queue=main
            [Descriptor tcp]
            ListenStream=[::1]:\(ports[1])
            Exec=@/record %{line} %{peer}
            Queue=main
            """
        try Watchd.run(text) { watchd in
            for name in ["udp", "tcp"] { try wait(for: name) { try watchd.source(name).state == .armed } }
            _ = try python(send, String(ports[0]), String(ports[1]))
            let runs = try watchd.waitForRuns(3)
            #expect(Set(arguments(runs)) == ["datagram", "line", "rest"])
            for run in runs { #expect(String(decoding: run.arguments[1], as: UTF8.self).hasPrefix("[::1]:")) }
        }
    }

    @Test(.enabled(if: hasPressure, "this kernel has no PSI, or does not let it be watched"))
    func pressureIsAnEvent() throws {
        let text = """
            [Descriptor pressure]
            Pressure=cpu some 1ms 2s
            Exec=@/record pressure
            Queue=main
            """
        try Watchd.run(text) { watchd in
            try wait(for: "the trigger") { try watchd.source("pressure").state == .armed }
            // More that want a processor than there are.
            let spin = "timeout 5 sh -c 'until [ -e \(watchd.folder["enough"]) ]; do :; done'"
            let script = "for i in $(seq \(2 * Linux.processorCount + 1)); do \(spin) & done"
            _ = try Program.run(["sh", "-c", script])
            _ = try watchd.waitForRuns(1)
            try watchd.folder.write("enough", "")
        }
    }

    /// A container that was moved, say: what is counted from the boot, and when processes were started, goes by it.
    @Test(.enabled(if: isRoot && hasTimeNamespaces, "no time namespaces here"))
    func aTimeNamespaceHasABootOfItsOwn() throws {
        let due = Linux.now(.boottime) / 1_000_000 + 100_000 + 4
        let text = """
            [Timer boot]
            OnBootSec=\(due)s
            Exec=@/record boot
            [Timer grid]
            EverySec=1s
            Log=grid
            [Process other]
            PIDFile=@/pid
            Exec=@/record %{kind}
            """
        try Watchd.run(text, launcher: Self.ownBoot) { watchd in
            let folder = watchd.folder
            try folder.write("start", "sleep 1000 >/dev/null 2>&1 & echo $! >'\(folder["new"])'")
            _ = try Program.run(["/bin/sh", folder["start"]])
            try Linux.rename(folder["new"], to: folder["pid"])
            try wait(for: "it to be watched") { try watchd.source("other").state == .armed }
            let end = Linux.now(.monotonic) + 1_500_000
            try wait(for: "a while") { Linux.now(.monotonic) >= end }
            try Linux.kill(process: #require(Int32(folder.lines("pid").first ?? "")), signal: SIGKILL)
            let runs = try watchd.waitForRuns(2)
            #expect(Set(arguments(runs)) == ["boot", "process"])
            #expect(Linux.now(.boottime) / 1_000_000 >= due - 100_000)
            let ran = runs.compactMap { run in
                run.inputText.firstMatch(of: /"run_usec":([0-9]+)/).flatMap { Int($0.1) }
            }
            // As long as the process, and not as long as the machine has been up.
            #expect(ran.count == 1 && ran.allSatisfy { (1_500_000..<120_000_000).contains($0) }, "\(ran)")
            #expect(try watchd.source("grid").lastEvent != nil)
        }
    }
}
