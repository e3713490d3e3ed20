import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// A store with which watchd does not start, since somebody has to look after it first.
@Suite("Store refused, end to end", .ownThread) struct StoreRefusedTests {
    /// Starts another daemon on the folder, as it stands there.
    private func start(_ folder: Folder) throws -> Finished {
        try Program.run([Products.path("watchd"), folder["watch"]], seconds: 20)
    }

    @Test func aSecondDaemonOnTheSameFolderNamesTheFirst() throws {
        try Lives.run(StoreTroubleTests.text) { lives in
            let other = lives.folder.text("watch").replacing("/socket\n", with: "/socket2\n")
            try lives.folder.write("watch2", other)
            let second = try Program.run([Products.path("watchd"), lives.folder["watch2"]], seconds: 20)
            #expect(second.code == 1, "\(second)")
            #expect(second.errorText.contains("\(lives.watchd.processID)"), "\(second)")
            #expect(second.errorText.contains(lives.folder["state"]), "\(second)")
            #expect(!lives.folder.exists("socket2"))
            try lives.watchd.emit("poke", data: 1)
            lives.kill()
            try lives.folder.write("go", "")
            try lives.start()
            try lives.waitForBegun(1)
            try lives.watchd.waitUntilIdle()
        }
    }

    @Test func aStoreOfALaterVersionIsLeftAlone() throws {
        try Lives.run(StoreTroubleTests.text) { lives in
            try lives.watchd.suspend("kept")
            try lives.watchd.emit("poke", data: 1)
            lives.stop()
            let name = try lives.folder.storeFile()
            // A log that the stop has left beside the file would hide what is written into the file.
            let settle = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA wal_checkpoint(TRUNCATE)')"
            #expect(try Program.run(["python3", "-c", settle, lives.folder[name]]).code == 0)
            let good = lives.folder.bytes(name)
            var bad = good
            // `user_version`, big endian (https://www.sqlite.org/fileformat.html, 1.3).
            bad.replaceSubrange(60..<64, with: [0, 0, 0, 200])
            try lives.folder.write(name.pathBytes, bad)
            let end = try start(lives.folder)
            #expect(end.code == 78, "\(end)")
            #expect(end.errorText.contains(lives.folder[name]) && end.errorText.contains("200"), "\(end)")
            #expect(lives.folder.bytes(name) == bad, "it is not touched")
            try lives.folder.write(name.pathBytes, good)
            try lives.start()
            #expect(try lives.operations(of: "poke").count == 1)
            try lives.folder.write("go", "")
            try lives.watchd.resume("kept")
            try lives.watchd.waitUntilIdle()
        }
    }

    @Test func aFolderInThePlaceOfTheStoreIsRefused() throws {
        try Lives.run(StoreTroubleTests.text) { lives in
            lives.stop()
            let name = try lives.folder.storeFile()
            for left in try Linux.readFolder(lives.folder["state"]) where left.kind != .folder {
                try Linux.unlink(lives.folder["state"].pathBytes + [UInt8(ascii: "/")] + left.name)
            }
            try lives.folder.makeFolder(name)
            let end = try start(lives.folder)
            #expect(end.code == 78, "\(end)")
            #expect(end.errorText.contains(lives.folder[name]), "\(end)")
            try Linux.rmdir(lives.folder[name])
            try lives.start()
        }
    }

    @Test func aFolderThatOthersMayWriteAndALockThatHangsAreRefused() throws {
        try Lives.run(StoreTroubleTests.text) { lives in
            lives.stop()
            try Linux.chmod(lives.folder["state"], 0o777)
            let open = try start(lives.folder)
            #expect(open.code == 78, "\(open)")
            #expect(open.errorText.contains("\(lives.folder["state"]) may be written by others"), "\(open)")
            try Linux.chmod(lives.folder["state"], 0o700)
            try Linux.unlink(lives.folder["state/watchd.lock"])
            try Linux.mkfifo(lives.folder["state/watchd.lock"])
            let hanging = try start(lives.folder)
            #expect(hanging.code == 78, "\(hanging)")
            #expect(hanging.errorText.contains("watchd.lock is no regular file"), "\(hanging)")
            try Linux.unlink(lives.folder["state/watchd.lock"])
            try lives.start()
        }
    }
}

extension Folder {
    /// The file that SQLite has made, in `state`.
    func storeFile() throws -> String {
        let names = try Linux.readFolder(self["state"]).map { String(decoding: $0.name, as: UTF8.self) }
        let magic = "SQLite format 3\0".pathBytes
        return try #require(names.map { "state/\($0)" }.first { bytes($0).starts(with: magic) })
    }
}
