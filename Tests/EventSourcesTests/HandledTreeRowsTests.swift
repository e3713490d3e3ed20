import Engine
import LinuxSystem
import ProgramKit
import SeedKit
import Testing

@testable import EventSources

/// The tree that is made of the rows of the store.
@Suite("Tree of what was handled", .ownThread) struct HandledTreeRowsTests {
    private let root = "/w".pathBytes

    private func tree(_ rows: [(String, PathState)], stored: Set<String> = []) -> FileTree {
        var handled = HandledTree(below: root, stored: Set(stored.map(\.pathBytes)))
        for (path, state) in rows { handled.add(path.pathBytes, state) }
        return handled.tree
    }

    private func state(_ kind: PathState.Kind, _ inode: UInt64, isFresh: Bool = false) -> PathState {
        var state = PathState(kind)
        (state.inode, state.isFresh, state.permissions, state.userID) = (inode, isFresh, 0o644, 7)
        (state.modified, state.changed) = (Int64(inode) * 1000, Int64(inode) * 1000 + 1)
        if kind == .file { (state.size, state.links) = (Int64(inode) * 10, 2) }
        return state
    }

    private func known(_ tree: FileTree) -> [String: PathState] {
        var found: [String: PathState] = [:]
        tree.visit { found[String(decoding: $0.path, as: UTF8.self)] = $0.stamp.state }
        return found
    }

    @Test func aRowThatIsNotTrustedIsNotUnlessItsHandlerIsToRun() throws {
        let rows = [
            ("", state(.folder, 1)), ("a", state(.file, 2, isFresh: true)), ("b", state(.file, 3, isFresh: true)),
        ]
        let tree = tree(rows, stored: ["/w/b"])
        #expect(tree.has(.isUntrusted, try #require(tree.node(at: "a".pathBytes))))
        #expect(!tree.has(.isUntrusted, try #require(tree.node(at: "b".pathBytes))))
    }

    /// As the handler of its coming is to run still.
    @Test func aFolderWithoutARowIsUnseen() throws {
        let tree = tree([("d/e/f", state(.file, 4)), ("d/g", state(.file, 5))])
        #expect(known(tree) == ["d/e/f": state(.file, 4), "d/g": state(.file, 5)])
        for path in ["", "d", "d/e"] {
            let folder = try #require(tree.node(at: path.pathBytes))
            #expect(tree.isFolder(folder) && tree.has(.isUnseen, folder) && tree.has(.isNew, folder))
        }
    }

    @Test func whatCannotBeIsLeftOut() {
        let long = String(repeating: "n", count: FileTree.longestName + 1)
        let rows = [
            ("", state(.folder, 1)), ("a", state(.file, 2)), ("a/b", state(.file, 3)), ("d//e", state(.file, 4)),
            ("d/", state(.file, 4)), ("\(long)", state(.file, 5)), ("\(long)/x", state(.file, 6)),
            ("z", .nothing),
        ]
        #expect(known(tree(rows)) == ["": state(.folder, 1), "a": state(.file, 2)])
        #expect(known(tree([("", state(.file, 1)), ("a", state(.file, 2))])) == ["": state(.file, 1)])
    }

    /// A file and a folder that replaced each other: one of them is handled, and what stood in the folder.
    @Test func whatStoodBelowAFileIsKeptAside() {
        var handled = HandledTree(below: root, stored: [])
        let rows = [
            ("", state(.folder, 1)), ("a", state(.file, 2)), ("a-", state(.file, 3)), ("a/b", state(.folder, 4)),
            ("a/b/c", state(.file, 5)), ("d", state(.file, 6)),
        ]
        for (path, state) in rows { handled.add(path.pathBytes, state) }
        #expect(Set(known(handled.tree).keys) == ["", "a", "a-", "d"])
        #expect(handled.belowFiles.map { String(decoding: $0.path, as: UTF8.self) } == ["a/b", "a/b/c"])
        #expect(handled.belowFiles.map(\.isFolder) == [true, false])
    }

    @Test func ofAFolderByItselfNothingIsKnownOfThoseInIt() throws {
        var tree = tree([("", state(.folder, 1)), ("d", state(.folder, 2)), ("d/e/f", state(.file, 3))])
        tree.makeShallow()
        #expect(known(tree) == ["": state(.folder, 1), "d": state(.folder, 2)])
        #expect(tree.has(.isShallow, try #require(tree.node(at: "d".pathBytes))))
    }

    @Test(arguments: Seeds.range(20, long: 500)) func itHasWhatTheRowsSay(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let names = ["a", "a.b", "aa", "b", "b-", "c", "\u{1}", "é"]
        var rows: [String: PathState] = ["": state(.folder, 1)]
        for number in 2..<UInt64(random.upTo(300) + 3) {
            // Below a folder that is there.
            let folders = rows.filter { $1.kind == .folder }.keys.sorted()
            let folder = random.pick(folders)
            let path = (folder.isEmpty ? "" : folder + "/") + random.pick(names)
            if rows[path] == nil { rows[path] = state(random.chance(40) ? .folder : .file, number) }
        }
        let sorted = rows.sorted { $0.key.pathBytes.lexicographicallyPrecedes($1.key.pathBytes) }
        let tree = tree(sorted.map { ($0, $1) })
        #expect(known(tree) == rows, "seed \(seed)")
        #expect(tree.count == rows.count && tree.folderCount == rows.values.count { $0.kind == .folder })
    }
}
