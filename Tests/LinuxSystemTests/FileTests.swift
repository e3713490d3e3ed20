import Glibc
import LinuxSystem
import ProgramKit
import Testing

@Suite("Files") struct FileTests {
    @Test func anErrorNamesCallPathAndReason() {
        let error = #expect(throws: SystemError.self) { try Linux.open("/nowhere/a\nb").close() }
        #expect(error?.description == #"open /nowhere/a\x0ab: No such file or directory (ENOENT)"#)
        #expect(SystemError(call: "read", errno: .ioError).description == "read: Input/output error (EIO)")
    }

    @Test func errnosHaveTheirNames() {
        #expect(Errno.noSuchFile.name == "ENOENT")
        #expect(Errno.wouldBlock.name == "EAGAIN")
        #expect(Errno(ECANCELED).text == "Operation canceled")
        #expect(Errno(0).name == "errno 0")
        #expect(Errno(99_999).description == "Unknown error (errno 99999)")
        #expect(Errno(-1).description == "Unknown error (errno -1)")
    }

    @Test func aNULByteInAPathIsAnError() {
        let path: [UInt8] = [47, 116, 0, 109]
        for error in [
            #expect(throws: SystemError.self) { try Linux.open(path).close() },
            #expect(throws: SystemError.self) { try Linux.mkdir(path) },
            #expect(throws: SystemError.self) { try Linux.rename("/nowhere", to: path) },
            #expect(throws: SystemError.self) { try Linux.readFolder(path) },
        ] {
            #expect(error?.errno == .invalidArgument)
            #expect(error?.detail == #"/t\x00m"#)
        }
        let error = #expect(throws: SystemError.self) { try Linux.stat("") }
        #expect(error?.errno == .noSuchFile)
    }

    @Test func textToPrintHidesNothingAndForgesNothing() {
        #expect("/srv/ä b".pathBytes.printable == "/srv/ä b")
        #expect([UInt8]([0x61, 0xFF, 0x62, 0xC3]).printable == #"a\xffb\xc3"#)
        #expect("\u{1B}[2J\\x1b\u{85}".pathBytes.printable == #"\x1b[2J\\x1b\xc2\x85"#)
        #expect([UInt8]([0xED, 0xA0, 0x80]).printable == #"\xed\xa0\x80"#)
        #expect([UInt8]().printable.isEmpty)
        #expect([UInt8]([0xE2, 0x82, 0x41, 0xF0]).printable == #"\xe2\x82A\xf0"#)
        #expect(#"a\b\\c"#.pathBytes.printable(doublingBackslashes: false) == #"a\b\\c"#)
    }

    @Test func aFileIsWrittenReadAndDescribed() throws {
        try withTemporaryFolder { folder throws in
            let path = folder + "/a"
            try Linux.writeFile(path, "hello")
            #expect(try Linux.readFile(path) == "hello".pathBytes)
            try Linux.chmod(path, 0o4750)
            let status = try Linux.stat(path)
            #expect(status.kind == .regular && status.size == 5 && status.links == 1)
            #expect(status.permissions == 0o4750)
            #expect(status.userID == Linux.effectiveUserID)
            #expect(abs(status.modified / 1000 - Linux.now(.realtime)) < 60_000_000)
            try Linux.rename(path, to: folder + "/b")
            try Linux.link(folder + "/b", to: folder + "/c")
            #expect(try Linux.stat(folder + "/c").inode == status.inode)
            let error = #expect(throws: SystemError.self) { try Linux.lstat(path) }
            #expect(error?.errno == .noSuchFile)
        }
    }

    @Test func aFileBeyondTheLimitIsRefused() throws {
        try withTemporaryFolder { folder throws in
            let path = folder + "/a"
            try Linux.writeFile(path, String(repeating: "x", count: 200_000))
            #expect(try Linux.readFile(path, limit: 200_000).count == 200_000)
            let error = #expect(throws: SystemError.self) { try Linux.readFile(path, limit: 199_999) }
            #expect(error == SystemError(call: "read", detail: path, errno: .fileTooLarge))
        }
        let error = #expect(throws: SystemError.self) { try Linux.readFile("/dev/zero", limit: 100_000) }
        #expect(error?.errno == .fileTooLarge)
        #expect(try !Linux.readFile("/proc/self/status").isEmpty)
    }

    @Test func aFolderIsReadByteForByte() throws {
        try withTemporaryFolder { folder throws in
            let names: [[UInt8]] = [
                "a".pathBytes, [0xFF, 0x0A, 0x22], "-x%p".pathBytes, [UInt8](repeating: 0x7A, count: 255),
            ]
            for name in names { try Linux.open((folder + "/").pathBytes + name, [.writing, .creating]).close() }
            try Linux.mkdir(folder + "/d")
            try Linux.mkfifo(folder + "/f", mode: 0o600)
            try Linux.symlink(folder + "/l", to: [0xFE, 0x2F])
            let entries = try Linux.readFolder(folder)
            #expect(Set(entries.map(\.name)) == Set(names + ["d", "f", "l"].map(\.pathBytes)))
            for entry in entries {
                #expect(try Linux.lstat((folder + "/").pathBytes + entry.name).kind == entry.kind)
            }
            #expect(try Linux.readlink(folder + "/l") == [0xFE, 0x2F])
            let error = #expect(throws: SystemError.self) { try Linux.readFolder(folder + "/a") }
            #expect(error?.errno == .notFolder)
        }
    }

    /// More than one call gives.
    @Test func aLargeFolderIsReadWhole() throws {
        try withTemporaryFolder { folder throws in
            let names = (0..<500).map { number in String(repeating: "n", count: 200) + "\(number)" }
            for name in names { try Linux.open("\(folder)/\(name)", [.writing, .creating]).close() }
            let found = try Linux.readFolder(folder).map(\.name)
            #expect(found.count == names.count)
            #expect(Set(found) == Set(names.map(\.pathBytes)))
        }
    }

    @Test func nothingStandsInARemovedFolder() throws {
        try withTemporaryFolder { folder throws in
            try Linux.mkdir(folder + "/d")
            try Linux.open(folder + "/d", [.reading, .folder]).use { open in
                try Linux.rmdir(folder + "/d")
                #expect(try Linux.readFolder(open, of: "d".pathBytes).isEmpty)
            }
        }
    }

    @Test func accessIsAsked() throws {
        try Linux.access("/bin/sh", .executing)
        let error = #expect(throws: SystemError.self) { try Linux.access("/etc/passwd", .executing) }
        #expect(error?.errno == .accessDenied)
    }

    @Test func sealedMemoryIsReadFromItsStartAndNeverChanged() throws {
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        try Linux.memfd(name: "event", bytes).use { memory throws in
            let error = #expect(throws: SystemError.self) { try Linux.writeAll(memory, [1]) }
            #expect(error?.errno == .notPermitted)
            #expect(ftruncate(memory, 0) == -1)
            #expect(try Linux.readToEnd(memory, limit: 100_000) == bytes)
        }
        try Linux.memfd(name: "empty", []).use { empty throws in #expect(try Linux.read(empty, atMost: 10).isEmpty) }
    }

    @Test(.ownThreadChain) func aDescriptorThatIsDroppedIsHeard() async {
        #if DEBUG
            await #expect(processExitsWith: .failure) { _ = try Linux.open("/dev/null") }
        #endif
    }

    @Test func everyDescriptorIsCloseOnExec() throws {
        func check(_ descriptor: consuming FileDescriptor) {
            descriptor.use { #expect(fcntl($0, F_GETFD) == FD_CLOEXEC) }
        }
        check(try Linux.open("/dev/null"))
        check(try Linux.memfd(name: "a", []))
        check(try Linux.epollCreate())
        check(try Linux.inotifyCreate())
        check(try Linux.timerCreate(.monotonic))
        check(try Linux.signalCreate([SIGUSR1]))
        check(try Linux.pidfdOpen(Linux.processID))
        check(try Linux.duplicate(0))
        check(try Linux.socket(for: .unnamed, .stream))
        let pipe = try Linux.pipe()
        check(pipe.readEnd)
        check(pipe.writeEnd)
    }

    /// Between two looks at one path, that may go.
    @Test func theFileSystemOfAPathThatComesAndGoesIsFound() throws {
        try Folder.with { folder in
            let path = folder["in"].pathBytes
            let changes = Background {
                for _ in 0..<10_000 {
                    try? Linux.mkdir(path)
                    try? Linux.rmdir(path)
                }
            }
            defer { changes.join() }
            let found = (0..<20_000).count { _ in FileSystemType.nearest(to: path) != nil }
            #expect(found == 20_000)
        }
    }
}
