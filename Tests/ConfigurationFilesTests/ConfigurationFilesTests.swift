import ConfigurationFiles
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@Suite("Configuration files") struct ConfigurationFilesTests {
    static let isRoot = Linux.effectiveUserID == 0
    /// Some user who is not root, and may have the files of the test.
    private let user: UInt32 = isRoot ? 12_345 : Linux.effectiveUserID

    private struct Reading {
        /// `file: text`, and for a drop-in `file of base: text`.
        var texts: [String]
        /// `file: error: message`
        var diagnostics: [String]
    }

    private func read(
        _ arguments: [String], in folder: String, userID: UInt32? = nil, environment: [String: String] = [:]
    ) -> Reading {
        func short(_ file: String) -> String {
            file.hasPrefix(folder + "/") ? String(file.dropFirst(folder.count + 1)) : file
        }
        let (texts, diagnostics) = ConfigurationFiles.read(arguments: arguments, userID: userID ?? user) {
            environment[$0].map { Array($0.utf8) }
        }
        return Reading(
            texts: texts.map { text in
                let base = text.dropInOf.map { " of " + short($0) } ?? ""
                return short(text.file) + base + ": " + String(decoding: text.bytes, as: UTF8.self)
            },
            diagnostics: diagnostics.map { "\(short($0.location.file)): \($0.severity): \($0.message)" })
    }

    private func make(_ files: [String], in folder: String) throws {
        for file in files {
            let path = folder + "/" + file
            if let slash = file.lastIndex(of: "/") { try? Linux.mkdir(folder + "/" + file[..<slash], mode: 0o755) }
            try Linux.writeFile(path, "text of \(file)")
            try Linux.chmod(path, 0o644)
        }
    }

    @Test func aFolderMeansItsWatchFilesInTheOrderOfTheirBytes() throws {
        try withTemporaryFolder { folder throws in
            try make(
                ["b.watch", "a.watch", "B.watch", "ä.watch", ".hidden.watch", "c.watch~", "c.conf", ".watch"],
                in: folder)
            let reading = read([folder], in: folder)
            #expect(reading.texts.map { $0.prefix { $0 != ":" } } == ["B.watch", "a.watch", "b.watch", "ä.watch"])
            #expect(reading.diagnostics.isEmpty)
            #expect(read([folder + "/"], in: folder).texts == reading.texts)
        }
    }

    @Test func dropInsFollowTheFileTheyExtend() throws {
        try withTemporaryFolder { folder throws in
            try make(["a.watch", "b.watch", "a.watch.d/2.watch", "a.watch.d/1.watch", "a.watch.d/no.conf"], in: folder)
            let expected = [
                "a.watch: text of a.watch", "a.watch.d/1.watch of a.watch: text of a.watch.d/1.watch",
                "a.watch.d/2.watch of a.watch: text of a.watch.d/2.watch",
            ]
            #expect(read([folder], in: folder).texts == expected + ["b.watch: text of b.watch"])
            #expect(read([folder + "/a.watch"], in: folder).texts == expected)
        }
    }

    @Test func aDropInFolderWithoutItsFileIsNotIgnoredInSilence() throws {
        try withTemporaryFolder { folder throws in
            try make(["a.watch", "gone.watch.d/1.watch"], in: folder)
            let reading = read([folder], in: folder)
            #expect(reading.texts == ["a.watch: text of a.watch"])
            #expect(
                reading.diagnostics == [
                    "gone.watch.d: warning: there is no gone.watch that this folder could extend; ignored"
                ])
        }
    }

    @Test func aFileMayHaveAnyNameWhenItIsNamed() throws {
        try withTemporaryFolder { folder throws in
            try make(["demo.conf", "demo.conf.d/1.watch"], in: folder)
            #expect(read([folder + "/demo.conf"], in: folder).texts == ["demo.conf: text of demo.conf"])
        }
    }

    @Test func anEmptyFolderIsAWarning() throws {
        try withTemporaryFolder { folder throws in
            #expect(
                read([folder], in: folder).diagnostics == [
                    "\(folder): warning: there is no *.watch file in this folder"
                ])
        }
    }

    @Test func theDefaultPlaceFollowsTheEnvironment() throws {
        try withTemporaryFolder { folder throws in
            try Linux.mkdir(folder + "/.config")
            for place in ["one", "two", "xdg/watchd", ".config/watchd"] {
                if place.hasPrefix("xdg") { try Linux.mkdir(folder + "/xdg") }
                try Linux.mkdir(folder + "/" + place)
                try make([place + "/a.watch"], in: folder)
            }
            func files(_ environment: [String: String]) -> [String] {
                read([], in: folder, environment: environment).texts.map { String($0.prefix { $0 != ":" }) }
            }
            let all = [
                "CONFIGURATION_DIRECTORY": "\(folder)/one:\(folder)/two", "XDG_CONFIG_HOME": folder + "/xdg",
                "HOME": folder,
            ]
            #expect(files(all) == ["one/a.watch", "two/a.watch"])
            var some = all
            some["CONFIGURATION_DIRECTORY"] = ""
            #expect(files(some) == ["xdg/watchd/a.watch"])
            some["XDG_CONFIG_HOME"] = "relative"
            #expect(files(some) == [".config/watchd/a.watch"])
            #expect(read([], in: folder).diagnostics.count == 1)
            let root = read([], in: folder, userID: 0, environment: some)
            #expect(root.diagnostics.allSatisfy { $0.hasPrefix("/etc/watchd") })
        }
    }

    @Test func whatIsNoFileIsRefusedAtOnce() throws {
        try withTemporaryFolder { folder throws in
            try make(["a.watch"], in: folder)
            try Linux.mkfifo(folder + "/fifo.watch")
            try Linux.mkdir(folder + "/folder.watch")
            try Linux.symlink(folder + "/loop.watch", to: "loop.watch")
            try Linux.symlink(folder + "/null.watch", to: "/dev/null")
            try Linux.symlink(folder + "/stale.watch", to: "nowhere")
            try Linux.symlink(folder + "/good.watch", to: "a.watch")
            let reading = read([folder, "", folder + "/none", "/dev/zero"], in: folder)
            #expect(reading.texts == ["a.watch: text of a.watch", "good.watch: text of a.watch"])
            #expect(
                reading.diagnostics == [
                    "fifo.watch: error: this is a FIFO, not a file",
                    "folder.watch: error: this is a folder, not a file",
                    "loop.watch: error: cannot be read: Too many levels of symbolic links (ELOOP)",
                    "null.watch: error: this is a device, not a file",
                    "stale.watch: error: cannot be read: No such file or directory (ENOENT)",
                    ": error: cannot be read: No such file or directory (ENOENT)",
                    "none: error: cannot be read: No such file or directory (ENOENT)",
                    "/dev/zero: error: this is a device, not a file",
                ])
        }
    }

    @Test func aDropInPlaceThatIsNoFolderIsAnError() throws {
        try withTemporaryFolder { folder throws in
            try make(["a.watch", "a.watch.d"], in: folder)
            let reading = read([folder + "/a.watch"], in: folder)
            #expect(reading.texts.count == 1)
            #expect(reading.diagnostics == ["a.watch.d: error: this is a file, not a folder"])
        }
    }

    @Test func aFileBeyondTheBoundIsRefused() throws {
        try withTemporaryFolder { folder throws in
            for (name, size) in [("a", ConfigurationFiles.largestFile), ("b", ConfigurationFiles.largestFile + 1)] {
                try Linux.writeFile("\(folder)/\(name).watch", String(repeating: "#", count: size))
            }
            let reading = read([folder], in: folder)
            #expect(reading.texts.map(\.utf8.count) == [ConfigurationFiles.largestFile + "a.watch: ".utf8.count])
            #expect(reading.diagnostics == ["b.watch: error: larger than 1 MiB"])
        }
    }

    @Test func bytesAndNamesArriveAsTheyAre() throws {
        try withTemporaryFolder { folder throws in
            let name = (folder + "/").pathBytes + [0xFF] + ".watch".pathBytes
            try Linux.open(name, [.writing, .creating]).use { descriptor throws in
                try Linux.writeAll(descriptor, [0, 0xFF, 13, 10])
            }
            let (texts, diagnostics) = ConfigurationFiles.read(arguments: [folder], userID: user) { _ in nil }
            #expect(texts.map(\.bytes) == [[0, 0xFF, 13, 10]])
            #expect(texts.map(\.file) == [folder + #"/\xff.watch"#])
            #expect(diagnostics.isEmpty)
        }
    }

    @Test(.enabled(if: !isRoot, "root may read everything")) func anUnreadableFileIsAnError() throws {
        try withTemporaryFolder { folder throws in
            try make(["a.watch"], in: folder)
            try Linux.chmod(folder + "/a.watch", 0)
            #expect(
                read([folder], in: folder).diagnostics == ["a.watch: error: cannot be read: Permission denied (EACCES)"]
            )
        }
    }

    @Test(.enabled(if: isRoot, "only root can make files of others"))
    func whatOthersMayReplaceByAFolderAboveItIsRefused() throws {
        try withTemporaryFolder { folder throws in
            for name in ["theirs", "theirs/a.watch.d"] { try Linux.mkdir("\(folder)/\(name)", mode: 0o755) }
            try make(["theirs/a.watch", "theirs/a.watch.d/1.watch", "mine.watch"], in: folder)
            try Linux.symlink("\(folder)/link.watch", to: "theirs/a.watch")
            try Linux.chown("\(folder)/theirs", user: 12_345, group: nil)
            func refusal(_ victim: String, _ help: String) -> String {
                "\(folder)/theirs belongs to user 12345, who could replace it; refused, since \(victim) would run that; "
                    + "keep it where only \(help) may write"
            }
            for name in ["theirs/a.watch", "link.watch"] {
                let reading = read(["\(folder)/\(name)"], in: folder, userID: 0)
                #expect(reading.texts.isEmpty)
                #expect(reading.diagnostics == ["\(name): error: \(refusal("root", "root"))"])
            }
            #expect(
                read([folder], in: folder, userID: 12_346).diagnostics == [
                    "link.watch: error: \(refusal("watchd", "you and root"))"
                ])
            #expect(read(["\(folder)/theirs/a.watch"], in: folder, userID: 12_345).texts.count == 2)

            try Linux.chown("\(folder)/theirs", user: 0, group: nil)
            try Linux.chmod("\(folder)/theirs", 0o777)
            #expect(
                read(["\(folder)/theirs/a.watch"], in: folder, userID: 0).diagnostics == [
                    "theirs/a.watch: error: \(folder)/theirs may be written by others, who could replace it; refused, "
                        + "since root would run that; keep it where only root may write"
                ])
        }
    }

    @Test(.enabled(if: isRoot, "only root can make files of others"))
    func rootRefusesWhatOthersMayWrite() throws {
        try withTemporaryFolder { folder throws in
            try make(["group.watch", "mine.watch", "other.watch", "others.watch", "mine.watch.d/1.watch"], in: folder)
            try Linux.chmod(folder + "/group.watch", 0o664)
            try Linux.chmod(folder + "/others.watch", 0o646)
            try Linux.chown(folder + "/other.watch", user: user, group: nil)
            let refused = "others than root may write this; refused, since root would run what they write"
            let reading = read([folder], in: folder, userID: 0)
            #expect(
                reading.texts.map { $0.prefix { $0 != ":" } } == ["mine.watch", "mine.watch.d/1.watch of mine.watch"])
            #expect(
                reading.diagnostics == [
                    "group.watch: error: \(refused)",
                    "other.watch: error: belongs to user 12345; refused, since root would run what that user writes",
                    "others.watch: error: \(refused)",
                ])
            #expect(read([folder], in: folder, userID: user).texts.count == 5)

            try Linux.chmod(folder + "/mine.watch.d", 0o1777)
            #expect(
                read([folder + "/mine.watch"], in: folder, userID: 0).diagnostics == ["mine.watch.d: error: \(refused)"]
            )
            try Linux.chmod(folder, 0o1777)
            #expect(read([folder], in: folder, userID: 0).diagnostics == ["\(folder): error: \(refused)"])
        }
    }
}
