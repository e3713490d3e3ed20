import LinuxSystem
import ProgramKit
import Testing

@testable import Daemon

@Suite("Which watchd it is") struct InstanceTests {
    private func instance(_ folder: Folder, _ name: String = "state") -> Instance {
        Instance(folder: Array(folder[name].utf8))
    }

    @Test func itIsThePathAndASecretThatOnlyTheOwnerOfTheFolderCanRead() throws {
        try Folder.with { folder in
            try folder.makeFolder("state")
            let name = instance(folder).name
            #expect(name.hasPrefix(folder["state"] + ":"))
            let secret = name.dropFirst(folder["state"].count + 1)
            #expect(secret.wholeMatch(of: /[0-9a-f]{32}/) != nil, "\(secret)")
            #expect(folder.text("state/watchd.instance") == "\(secret)\n")
            let status = try Linux.lstat(folder["state/watchd.instance"])
            #expect(status.permissions == 0o600 && status.kind == .regular)
            #expect(instance(folder).name == name, "it stays the same")
            #expect(instance(folder).kept().name == name)
        }
    }

    @Test func noTwoAreTheSame() throws {
        try Folder.with { folder in
            #expect(instance(folder, "nowhere").name != instance(folder, "nowhere").name)
        }
    }

    @Test func aFolderThatComesLaterGetsTheSecretOrGivesIts() throws {
        try Folder.with { folder in
            let early = instance(folder)
            #expect(!folder.exists("state"), "the folder is made by the store")
            try folder.makeFolder("state")
            #expect(early.kept().name == early.name)
            #expect(instance(folder).name == early.name, "from now on it is there")
            let other = instance(folder, "nowhere")
            try Linux.symlink(folder["nowhere"], to: folder["state"])
            #expect(other.kept().name.hasSuffix(early.name.suffix(32)))
        }
    }

    @Test(arguments: ["", "0123\n", "0123456789abcdef0123456789ABCDEF\n"])
    func whatIsNoSecretIsReplaced(text: String) throws {
        try Folder.with { folder in
            try folder.makeFolder("state")
            try folder.write("state/watchd.instance", text, mode: 0o600)
            let name = instance(folder).name
            #expect(instance(folder).name == name)
            #expect(folder.text("state/watchd.instance") == name.suffix(32) + "\n")
        }
    }

    @Test func whatOthersMayHaveReadOrWrittenIsReplaced() throws {
        try Folder.with { folder in
            try folder.makeFolder("state")
            let name = instance(folder).name
            try Linux.chmod(folder["state/watchd.instance"], 0o640)
            let newer = instance(folder).name
            #expect(newer != name)
            #expect(try Linux.lstat(folder["state/watchd.instance"]).permissions == 0o600)
            // Somebody else's file under that name.
            try Linux.rename(folder["state/watchd.instance"], to: folder["theirs"])
            try Linux.symlink(folder["state/watchd.instance"], to: folder["theirs"])
            #expect(instance(folder).name != newer)
            #expect(folder.text("theirs") == newer.suffix(32) + "\n", "it is left alone")
        }
    }

    @Test func whatStandsInTheWayMakesItASecretOfThisLife() throws {
        try Folder.with { folder in
            for name in ["state", "state/watchd.instance", "state/watchd.instance/full"] { try folder.makeFolder(name) }
            #expect(instance(folder).name != instance(folder).name)
        }
    }
}
