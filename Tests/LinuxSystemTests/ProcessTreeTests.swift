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
            #expect(Linux.place(of: id)?.waitStatus == SIGKILL)
        }
    }

    /// The shell and its child are 1 and 2 to themselves.
    @Test(.enabled(if: geteuid() == 0)) func aProcessNamedInANamespaceOfItsOwnIsFoundHere() throws {
        let words = ["unshare", "--pid", "--fork", "sh", "-c", "sleep 1000 & wait"].map { Array($0.utf8) }
        let number = try Linux.open("/dev/null", .readingAndWriting).release()
        defer { FileDescriptor(owning: number).close() }
        let program = try Program(words, environment: Program.environment, descriptors: [number, number, number])
        defer {
            program.send(SIGKILL)
            program.wait()
        }
        func child(of process: Int32) -> Int32? {
            let text = (try? Linux.readFile("/proc/\(process)/task/\(process)/children", limit: 4096)) ?? []
            return text.split(separator: UInt8(ascii: " ")).first.flatMap { Int32(String(decoding: $0, as: UTF8.self)) }
        }
        var (shell, sleep): (Int32?, Int32?)
        try wait(for: "its child") {
            shell = child(of: program.processID)
            sleep = shell.flatMap(child)
            return sleep != nil
        }
        let client = try #require(shell)
        defer { try? Linux.kill(process: client, signal: SIGKILL) }
        #expect(Linux.process(1, asNamedBy: client) == client)
        #expect(Linux.process(2, asNamedBy: client) == sleep)
        #expect(Linux.process(client, asNamedBy: client) == nil)
        #expect(Linux.process(client, asNamedBy: Linux.processID) == client)
    }

    @Test(arguments: ["cat", "a b", "a) R 1 (b", "two\nlines", ""])
    func aLineIsTakenApartWhateverTheNameIs(name: String) throws {
        let line =
            "3213 (\(name)) Z 3212 3213 3000 0 -1 4228108 96 0 0 0 1 2 0 0 20 0 1 0 1234 0 0 18446744073709551615 0 0 0 "
            + "0 0 0 0 4096 81922 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 1792\n"
        let place = try #require(ProcessPlace(stat: line.pathBytes))
        #expect([place.parentID, place.groupID, place.sessionID] == [3212, 3213, 3000])
        #expect(place.isZombie && !place.isStuck)
        #expect(place.started == 12_340_000)
        #expect(place.waitStatus.map { LinuxSystem.ExitStatus(waitStatus: $0) } == .exited(7))
        #expect(ProcessPlace(stat: Array(line.pathBytes.prefix(60))) == nil, "not all of it")
    }

    @Test(arguments: [("exit 7", 7 << 8), ("exit 0", 0), ("kill $$", SIGTERM)])
    func howAChildEndedThatNobodyWaitsForIsReadByWhoMay(end: String, waitStatus: Int32) throws {
        let status = LinuxSystem.ExitStatus(waitStatus: waitStatus)
        try withProcess("/bin/sh", ["-c", end]) { id in
            try Linux.pidfdOpen(id).use { pidfd throws in
                try wait(for: "its end") { try !Linux.poll(pidfd, .readable, timeout: 0).isEmpty }
                #expect(Linux.exit(ofZombie: id, pidfd) == status)
                guard geteuid() == 0 else { return }
                // Of who has more capabilities the kernel says 0.
                try withoutPtrace {
                    #expect(Linux.place(of: id)?.waitStatus == 0)
                    #expect(Linux.exit(ofZombie: id, pidfd) == nil)
                }
                #expect(Linux.exit(ofZombie: id, pidfd) == status)
            }
            #expect(try Linux.pidfdOpen(Linux.processID).use { Linux.exit(ofZombie: Linux.processID, $0) } == nil)
        }
    }

    /// Without CAP_SYS_PTRACE (`capset(2)`, which the Glibc module does not have); this thread alone.
    private func withoutPtrace(_ body: () throws -> Void) throws {
        typealias Call = @convention(c) (UnsafePointer<UInt32>, UnsafeMutablePointer<UInt32>) -> Int32
        func call(_ name: String) throws -> Call { unsafeBitCast(try #require(dlsym(nil, name)), to: Call.self) }
        // _LINUX_CAPABILITY_VERSION_3, this thread.
        let header: [UInt32] = [0x2008_0522, 0]
        // Effective, permitted and inheritable, of the lower 32 and of the others.
        var capabilities = [UInt32](repeating: 0, count: 6)
        try #require(call("capget")(header, &capabilities) == 0)
        var fewer = capabilities
        fewer[0] &= ~(1 << 19)
        try #require(call("capset")(header, &fewer) == 0)
        defer { _ = try? call("capset")(header, &capabilities) }
        try body()
    }

    @Test func aNameMayHoldAnything() throws {
        try Folder.with { folder in
            let name = "a) R 1 (b"
            try folder.write(Array(name.utf8), Linux.readFile("/bin/cat", limit: 1 << 26), mode: 0o700)
            try withProcess(folder[name]) { id in #expect(Linux.place(of: id)?.parentID == Linux.processID) }
        }
    }

    @Test func theEnvironmentAtItsStartIsRead() throws {
        var child: Int32 = 0
        try withProcess("/bin/cat", environment: ["AB=no", "A=b=c", "EMPTY="]) { id in
            child = id
            // It is there when the new program is, a moment after the old one is gone.
            try wait(for: "its environment") { Linux.environment("A", of: id) == Array("b=c".utf8) }
            #expect(Linux.environment("EMPTY", of: id) == [])
            #expect(Linux.environment("B", of: id) == nil)
            #expect(Linux.environment(of: id, prefix: "") == ["AB=no", "A=b=c", "EMPTY="].map(\.pathBytes))
            #expect(Linux.environment(of: id, prefix: "A") == ["AB=no", "A=b=c"].map(\.pathBytes))
        }
        #expect(Linux.environment("A", of: child) == nil)
        #expect(Linux.environment(of: child, prefix: "") == [])
    }

    /// Wherever a page, or a read, ends in it.
    @Test func aVariableIsFoundWhereverItStandsInALargeEnvironment() throws {
        for size in [4000, 65_530] {
            let large = ["L=" + String(repeating: "x", count: size)]
            let all = large + ["AB=no", "A=" + String(repeating: "y", count: 70_000)] + large + ["A="]
            try withProcess("/bin/cat", environment: all) { id in
                try wait(for: "its environment") { Linux.environment(of: id, prefix: "")?.count == all.count }
                #expect(Linux.environment(of: id, prefix: "") == all.map(\.pathBytes), "\(size)")
                #expect(Linux.environment(of: id, prefix: "A=") == [all[2], "A="].map(\.pathBytes), "\(size)")
            }
        }
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
