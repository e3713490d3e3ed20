import Glibc
import LinuxSystem
import ProgramKit
import Testing

@Suite("Process tree") struct ProcessTreeTests {
    @Test func aProcessHasItsParent() throws {
        let place = try #require(Linux.place(of: Linux.processID))
        #expect(place.parentID == Linux.parentProcessID)
        #expect(!place.isStuck)
        #expect(!place.isZombie)
        #expect(place.groupID == getpgrp())
        #expect((0..<Linux.now(.boottime)).contains(place.started))
        #expect(Linux.place(of: Int32.max) == nil)
    }

    @Test func anEndedChildIsAZombieUntilItIsWaitedFor() throws {
        try withProcess("/bin/cat") { id in
            #expect(Linux.place(of: id)?.groupID == id)
            #expect(abs(Linux.now(.boottime) - (Linux.place(of: id)?.started ?? 0)) < 10_000_000)
            try Linux.kill(group: id, signal: SIGKILL)
            try wait(for: "its end") { Linux.place(of: id)?.isZombie == true }
        }
    }

    @Test func aNameMayHoldAnything() throws {
        let program = "/tmp/watchd-\(Linux.processID) a) R 1 (b"
        let bytes = try Linux.readFile("/bin/cat", limit: 1 << 26)
        try Linux.open(program, [.writing, .creating], mode: 0o700).use { file throws in
            try Linux.writeAll(file, bytes)
        }
        defer { try? Linux.unlink(program) }
        try withProcess(program) { id in #expect(Linux.place(of: id)?.parentID == Linux.processID) }
    }

    @Test func theEnvironmentAtItsStartIsRead() throws {
        var child: Int32 = 0
        try withProcess("/bin/cat", environment: ["AB=no", "A=b=c", "EMPTY="]) { id in
            child = id
            // It is there when the new program is, a moment after the old one is gone.
            try wait(for: "its environment") { Linux.environment("A", of: id) == Array("b=c".utf8) }
            #expect(Linux.environment("EMPTY", of: id) == [])
            #expect(Linux.environment("B", of: id) == nil)
            #expect(Linux.environment(of: id, limit: 100) == ["AB=no", "A=b=c", "EMPTY="].map(\.pathBytes))
            #expect(Linux.environment(of: id, limit: 7) == ["AB=no".pathBytes], "what is cut off does not count")
        }
        #expect(Linux.environment("A", of: child) == nil)
        #expect(Linux.environment(of: child, limit: 100) == [])
    }

    @Test func aProcessIsOfAUserInEveryRespectOrNot() throws {
        #expect(Linux.isEntirely(Linux.processID, of: geteuid()))
        #expect(!Linux.isEntirely(Linux.processID, of: geteuid() + 1))
        #expect(!Linux.isEntirely(Int32.max, of: geteuid()))
        guard geteuid() == 0 else { return }
        // As one that is set-user-ID and was started by somebody else.
        for option in ["--ruid", "--reuid"] {
            try withProcess("/usr/bin/setpriv", [option, "65534", "/bin/cat"]) { id in
                try wait(for: "the other program") { Linux.executable(of: id)?.suffix(4) == "/cat".pathBytes[...] }
                #expect(!Linux.isEntirely(id, of: 0))
                #expect(Linux.isEntirely(id, of: 65534) == (option == "--reuid"))
                #expect(try Linux.stat("/proc/\(id)").userID == (option == "--ruid" ? 0 : 65534))
            }
        }
    }

    /// Runs a program that reads its standard input until `body` is over.
    private func withProcess(
        _ program: String, _ arguments: [String] = [], environment: [String] = [], _ body: (Int32) throws -> Void
    ) throws {
        let pipe = try Linux.pipe()
        let (input, output) = (pipe.readEnd.release(), pipe.writeEnd.release())
        defer { FileDescriptor(owning: input).close() }
        let process = try Linux.spawn(
            SpawnSpecification(
                path: program.pathBytes, arguments: ([program] + arguments).map(\.pathBytes),
                environment: environment.map(\.pathBytes),
                descriptors: [input, output, output]))
        let id = process.processID
        try process.pidfd.use { pidfd throws in
            defer {
                try? Linux.kill(group: id, signal: SIGKILL)
                _ = try? Linux.waitUntilEnd(pidfd)
                FileDescriptor(owning: output).close()
            }
            try body(id)
        }
    }

    @Test func aProgramThatIsNotThereIsAnError() {
        #expect(Linux.execute(["/nonexistent/program"]).errno == .noSuchFile)
        #expect(Linux.execute([]).errno == .invalidArgument)
    }
}
