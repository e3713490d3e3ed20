import LinuxSystem
import ProgramKit
import SeedKit
import Testing

@testable import EventSources

@Suite("Tree of files", .ownThread) struct FileTreeTests {
    private func status(_ kind: FileStatus.Kind, inode: UInt64) throws -> FileStatus {
        var status = try Linux.stat("/")
        (status.kind, status.inode, status.size) = (kind, inode, kind == .folder ? 4096 : Int64(inode) * 3)
        return status
    }

    private func insert(
        _ tree: inout FileTree, _ name: String, into folder: FileTree.ID, _ kind: FileStatus.Kind, inode: UInt64
    ) throws -> FileTree.ID {
        let id = tree.insert(Array(name.utf8), into: folder)
        tree.setStamp(try status(kind, inode: inode), isFresh: false, of: id)
        return id
    }

    private func paths(_ tree: FileTree) -> [String: UInt64] {
        var found: [String: UInt64] = [:]
        tree.visit { found[String(decoding: $0.path, as: UTF8.self)] = $0.stamp.inode }
        return found
    }

    /// 255 characters, on a file system that counts in them.
    @Test func aNameOfManyBytesIsFound() throws {
        var tree = FileTree()
        let root = try insert(&tree, "", into: FileTree.holder, .folder, inode: 1)
        let (long, other) = (String(repeating: "名", count: 255), String(repeating: "名", count: 100))
        var ids: [FileTree.ID] = []
        for (number, name) in [long, "a", other, "b"].enumerated() {
            ids.append(try insert(&tree, name, into: root, .regular, inode: UInt64(number + 2)))
        }
        #expect(tree.child(of: root, named: Array(long.utf8)) == ids[0])
        #expect(paths(tree) == ["": 1, long: 2, "a": 3, other: 4, "b": 5])
        tree.move(ids[1], to: root, name: Array((long + "a").utf8))
        tree.remove(ids[0])
        #expect(paths(tree) == ["": 1, long + "a": 3, other: 4, "b": 5])
        for (name, id) in [(long + "a", ids[1]), (other, ids[2]), ("b", ids[3])] {
            #expect(tree.child(of: root, named: Array(name.utf8)) == id)
        }
    }

    @Test func aRenamedFolderTakesAlongWhatStandsInItAndNothingElse() throws {
        var tree = FileTree()
        let root = try insert(&tree, "", into: FileTree.holder, .folder, inode: 1)
        let a = try insert(&tree, "a", into: root, .folder, inode: 2)
        let b = try insert(&tree, "b", into: a, .folder, inode: 3)
        _ = try insert(&tree, "f", into: b, .regular, inode: 4)
        let other = try insert(&tree, "bb", into: a, .folder, inode: 5)
        _ = try insert(&tree, "f", into: other, .regular, inode: 6)
        tree.setWatch(77, of: b)
        tree.move(b, to: root, name: Array("c".utf8))
        #expect(paths(tree) == ["": 1, "a": 2, "c": 3, "c/f": 4, "a/bb": 5, "a/bb/f": 6])
        #expect(tree.watch(of: b) == 77)
        #expect(tree.node(at: Array("a/b".utf8)) == nil)
        #expect(tree.entry(at: Array("c/f".utf8))?.stamp.size == 12)
        tree.exchange(b, other)
        #expect(paths(tree) == ["": 1, "a": 2, "c": 5, "c/f": 6, "a/bb": 3, "a/bb/f": 4])
    }

    @Test func aNumberThatIsUsedAgainIsAnotherNode() throws {
        var tree = FileTree()
        let root = try insert(&tree, "", into: FileTree.holder, .folder, inode: 1)
        let old = try insert(&tree, "f", into: root, .regular, inode: 2)
        let reference = tree.reference(old)
        #expect(tree.id(reference) == old)
        tree.remove(old)
        #expect(tree.id(reference) == nil)
        let new = try insert(&tree, "f", into: root, .regular, inode: 2)
        #expect(new == old && tree.id(reference) == nil)
        #expect(tree.count == 2 && tree.folderCount == 1)
    }

    @Test func fourThousandFoldersOneInTheOther() throws {
        var tree = FileTree()
        var folder = try insert(&tree, "", into: FileTree.holder, .folder, inode: 1)
        for depth in 0..<4000 { folder = try insert(&tree, "d", into: folder, .folder, inode: UInt64(depth + 2)) }
        #expect(tree.path(of: folder).count == 7999)
        #expect(tree.node(at: tree.path(of: folder)) == folder)
        #expect(tree.below(FileTree.holder).count == 4001)
    }

    @Test func aFileTakesAHundredBytes() throws {
        var tree = FileTree()
        let root = try insert(&tree, "", into: FileTree.holder, .folder, inode: 1)
        let count = LongPart.count(20_000, long: 1_000_000)
        for number in 0..<count {
            _ = try insert(&tree, "file-\(number).text", into: root, .regular, inode: UInt64(number))
        }
        #expect(tree.room / count <= 100, "\(tree.room / count) bytes each")
    }

    /// Beside a dictionary of paths.
    @Test(arguments: Seeds.range(20, long: 500)) func itIsTheTreeThatItsChangesMake(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var tree = FileTree()
        _ = try insert(&tree, "", into: FileTree.holder, .folder, inode: 1)
        var model: [String: UInt64] = ["": 1]
        var folders: Set<String> = [""]
        var lastInode: UInt64 = 1
        func node(_ path: String) -> FileTree.ID { tree.node(at: Array(path.utf8)) ?? -1 }
        func joined(_ folder: String, _ name: String) -> String { folder.isEmpty ? name : folder + "/" + name }
        for _ in 0..<200 {
            let folder = random.pick(folders.sorted())
            let path = joined(folder, random.pick(["a", "b", "aa", "ab", String(repeating: "n", count: 255)]))
            let isThere = model[path] != nil
            switch random.upTo(3) {
            case 0 where !isThere, 1 where !isThere:
                lastInode += 1
                let kind: FileStatus.Kind = random.chance(60) ? .folder : .regular
                let name = String(path.split(separator: "/").last ?? "")
                _ = try insert(&tree, name, into: node(folder), kind, inode: lastInode)
                model[path] = lastInode
                if kind == .folder { folders.insert(path) }
            case 2 where isThere:
                let below = tree.below(node(path))
                for id in below.reversed() + [node(path)] { tree.remove(id) }
                let gone = model.keys.filter { $0 == path || $0.hasPrefix(path + "/") }
                #expect(gone.count == below.count + 1, "seed \(seed)")
                for path in gone { model[path] = nil }
                folders.subtract(gone)
            case 3 where isThere:
                let target = random.pick(folders.sorted().filter { $0 != path && !$0.hasPrefix(path + "/") })
                let new = joined(target, random.pick(["a", "b", "c", "abc"]))
                guard model[new] == nil else { continue }
                tree.move(node(path), to: node(target), name: Array((new.split(separator: "/").last ?? "").utf8))
                for (old, inode) in model where old == path || old.hasPrefix(path + "/") {
                    model[old] = nil
                    model[new + old.dropFirst(path.count)] = inode
                    if folders.remove(old) != nil { folders.insert(new + old.dropFirst(path.count)) }
                }
            default: break
            }
            #expect(tree.count == model.count && tree.folderCount == folders.count, "seed \(seed)")
        }
        #expect(paths(tree) == model, "seed \(seed)")
    }
}
