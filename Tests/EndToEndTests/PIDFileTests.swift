import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// What may stand at the path of a `PIDFile=`.
@Suite("Pid files, end to end", .ownThread) struct PIDFileTests {
    private static let text = "[Process other]\nPIDFile=@/pid\nExec=@/record\nQueue=main\n"

    private func start() throws -> Program {
        let null = try Linux.open("/dev/null", .readingAndWriting).release()
        defer { FileDescriptor(owning: null).close() }
        return try Program(
            ["sleep", "1000"].map(\.pathBytes), environment: Program.environment, descriptors: [null, null, null])
    }

    private func waitFor(_ state: ListSources.Source.State, _ watchd: Watchd, reason: String = "") throws {
        try wait(for: "the source to be \(state): \(reason)") {
            let source = try watchd.source("other")
            return source.state == state && (reason.isEmpty || source.reason?.contains(reason) == true)
        }
    }

    @Test func aThreadAFolderAndAFifoAreToldByNameAndAFileInTheirPlaceWorks() throws {
        try Watchd.run(Self.text) { watchd in
            // Of this test: it does not end meanwhile.
            let thread = try Linux.readlink("/proc/thread-self").split(separator: UInt8(ascii: "/")).last
            try watchd.folder.write("pid", String(decoding: #require(thread), as: UTF8.self))
            try waitFor(.waiting, watchd, reason: "is a thread and no process")
            try Linux.unlink(watchd.folder["pid"])
            try Linux.mkfifo(watchd.folder["pid"])
            try waitFor(.failed, watchd, reason: "not a regular file")
            try Linux.unlink(watchd.folder["pid"])
            try watchd.folder.makeFolder("pid")
            try waitFor(.failed, watchd, reason: "not a regular file")
            try Linux.rmdir(watchd.folder["pid"])
            let process = try start()
            try watchd.folder.write("pid", "\(process.processID)\n")
            try waitFor(.armed, watchd)
            process.send(SIGKILL)
            process.wait()
            #expect(try watchd.waitForRuns(1)[0]["WATCHD_PID"] == "\(process.processID)")
        }
    }

    @Test func anEmptyFileThatIsFilledARewrittenAndARemovedOneKeepEveryProcessInSight() throws {
        try Watchd.run(Self.text) { watchd in
            let (first, second) = (try start(), try start())
            try watchd.folder.write("pid", "")
            try waitFor(.waiting, watchd)
            try watchd.folder.append("pid", "\(first.processID)\n")
            try waitFor(.armed, watchd)
            try watchd.folder.write("pid", "\(second.processID)\n")
            try Linux.unlink(watchd.folder["pid"])
            let status = try watchd.control("status", "other").text
            let processes = status.split(separator: "\n").first { $0.hasPrefix("  process  ") }?.split(separator: " ")
            #expect(processes?.contains("\(first.processID)") == true, "\(status)")
            first.send(SIGTERM)
            first.wait()
            #expect(try watchd.waitForRuns(1)[0]["WATCHD_PID"] == "\(first.processID)")
            try watchd.folder.write("pid", "\(second.processID)\n")
            try waitFor(.armed, watchd)
            second.send(SIGTERM)
            second.wait()
            #expect(try watchd.waitForRuns(2)[1]["WATCHD_PID"] == "\(second.processID)")
        }
    }

    @Test func aSourceThatGetsNoDescriptorFailsAloneSaysWhyAndHeals() throws {
        let text = """
            [Process first]
            PIDFile=@/first
            Log=end of %{pid}
            [Process second]
            PIDFile=@/second
            Log=end of %{pid}

            """
        let launcher = ["prlimit", "--nofile=64:64", "--"]
        try Watchd.run(text, launcher: launcher) { watchd in
            let (first, second) = (try start(), try start())
            try watchd.folder.write("first", "\(first.processID)\n")
            try wait(for: "the first to be watched") { try watchd.source("first").state == .armed }
            var clients: [RawConnection] = []
            for _ in 0..<80 { clients.append(try RawConnection(watchd.socket)) }
            let descriptors = { try Linux.readFolder("/proc/\(watchd.processID)/fd").count }
            try wait(for: "its descriptors to be used up") { try descriptors() >= 62 }
            try watchd.folder.write("second", "\(second.processID)\n")
            try wait(for: "the second to say why") {
                watchd.folder.lines("log").contains {
                    $0.contains("process/second: ") && $0.contains("Too many open files")
                        && $0.contains("trying again in")
                }
            }
            first.send(SIGTERM)
            first.wait()
            try wait(for: "the end of the first") { watchd.logText.contains("end of \(first.processID)") }
            #expect(!watchd.logText.contains("process/first: pidfd_open"))
            clients.removeAll()
            try wait(for: "the second to be watched") { try watchd.source("second").state == .armed }
            second.send(SIGTERM)
            second.wait()
            try wait(for: "the end of the second") { watchd.logText.contains("end of \(second.processID)") }
            #expect(try watchd.status().problems.isEmpty)
        }
    }

    @Test func manyProcessesLeaveDescriptorsToEverythingElse() throws {
        let count = 40
        let sources = (0..<count).map { "[Process p\($0)]\nPIDFile=@/pid\($0)\nHandler=tell\n" }
        let text = "[Handler tell]\nLog=end of %{pid}\n[Custom poke]\nExec=@/record\n" + sources.joined()
        let processes = try (0..<count).map { _ in try start() }
        let prepare: (Folder) throws -> Void = { folder in
            for (index, process) in processes.enumerated() {
                try folder.write("pid\(index)", "\(process.processID)\n")
            }
        }
        try Watchd.run(text, launcher: ["prlimit", "--nofile=64:64", "--"], prepare: prepare) { watchd in
            try wait(for: "some to be refused") { watchd.logText.contains("are left to everything else") }
            try watchd.emit("poke")
            #expect(try watchd.waitForRuns(1).count == 1)
            var living = Set(0..<count)
            while !living.isEmpty {
                var armed: [Int] = []
                try wait(for: "some of \(living.sorted()) to be watched") {
                    armed = try living.filter { try watchd.source("p\($0)").state == .armed }
                    return !armed.isEmpty
                }
                for index in armed {
                    processes[index].send(SIGTERM)
                    processes[index].wait()
                    living.remove(index)
                    let line = "end of \(processes[index].processID)"
                    try wait(for: line) { watchd.folder.lines("log").contains { $0.hasSuffix(line) } }
                }
            }
            #expect(try watchd.waitUntilIdle().done == count + 1)
            #expect(try watchd.status().problems.isEmpty)
        }
    }
}
