import LinuxSystem
import ProgramKit
import Store
import Testing

/// A file beside the store that is read and replaced as a whole.
@Suite("Store, kept file") struct KeptFileTests {
    private func file(_ folder: Folder) -> KeptFile { .configuration(of: Array(folder["state"].utf8)) }

    @Test func whatWasWrittenLastIsReadAndOnlyItsOwnerReadsIt() throws {
        try Folder.with { folder in
            #expect(try file(folder).read() == nil, "without a folder")
            try folder.makeFolder("state")
            #expect(try file(folder).read() == nil)
            try file(folder).replace(with: [1, 2, 3])
            try file(folder).replace(with: [4])
            #expect(try file(folder).read() == [4])
            let status = try Linux.lstat(file(folder).path)
            #expect(status.permissions == 0o600 && status.kind == .regular)
            try file(folder).replace(with: [4])
            #expect(try Linux.lstat(file(folder).path).inode == status.inode, "nothing to write")
        }
    }

    @Test func aDraftThatACrashHasLeftIsNoMatter() throws {
        try Folder.with { folder in
            try folder.makeFolder("state")
            try file(folder).replace(with: [1])
            try folder.write("state/watchd.configuration.new", "half")
            #expect(try file(folder).read() == [1])
            try file(folder).replace(with: [2])
            #expect(try file(folder).read() == [2])
            #expect(!folder.exists("state/watchd.configuration.new"))
        }
    }

    @Test func oneThatOthersCouldHavePutThereIsNeitherReadNorReplaced() throws {
        try Folder.with { folder in
            try folder.makeFolder("state")
            let file = file(folder)
            func expectRefusal(_ expected: StoreError, at place: SourceLocation = #_sourceLocation) throws {
                #expect(try storeError { _ = try file.read() } == expected, sourceLocation: place)
                #expect(try storeError { try file.replace(with: [2]) } == expected, sourceLocation: place)
                #expect(try storeError { _ = try Store.open(folder) } == expected, sourceLocation: place)
            }
            try file.replace(with: [1])
            try Linux.chmod(file.path, 0o666)
            try expectRefusal(.writable(path: file.path))
            try Linux.chmod(file.path, 0o600)
            try Linux.link(file.path, to: folder["other"])
            try expectRefusal(.linked(path: file.path))
            try Linux.unlink(file.path)
            try Linux.symlink(file.path, to: folder["other"])
            try expectRefusal(.notAFile(path: file.path))
            try Linux.unlink(file.path)
            try Linux.mkfifo(file.path)
            try expectRefusal(.notAFile(path: file.path))
            try Linux.unlink(file.path)
            try Linux.chmod(folder["state"], 0o777)
            try expectRefusal(.writable(path: Array(folder["state"].utf8)))
        }
    }

    @Test func oneThatIsTooLargeIsRefused() throws {
        try Folder.with { folder in
            try folder.makeFolder("state")
            let bytes = [UInt8](repeating: 7, count: KeptFile.largest + 1)
            let error = try storeError { try file(folder).replace(with: bytes) }
            #expect(error.description.contains("larger than 64 MiB"), "\(error)")
            try folder.put("state/watchd.configuration", bytes)
            let unread = try storeError { _ = try file(folder).read() }
            #expect(unread.description.contains("cannot be read"), "\(unread)")
        }
    }
}
