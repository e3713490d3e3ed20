import Testing

@testable import WatchFile

/// What a `[Path]` sees of a path, by its keys.
@Suite("Sight of a path") struct PathSightTests {
    private func trigger(
        _ paths: [String], recursive: Bool = false, prune: [String] = [], include: [String] = [], exclude: [String] = []
    ) throws -> PathTrigger {
        func globs(_ texts: [String]) throws -> [PathGlob] { try texts.map { try PathGlob(Array($0.utf8)) } }
        return PathTrigger(
            paths: paths.map { Array($0.utf8) },
            filter: PathFilter(include: try globs(include), exclude: try globs(exclude)), isRecursive: recursive,
            prune: PathPrune(globs: try globs(prune)))
    }

    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test(
        arguments: [
            ("/srv", true), ("/srv/a", true), ("/srv/a/b", false), ("/srva", nil), ("/", nil), ("/etc/a", nil),
        ] as [(String, Bool?)])
    func aFolderSeesWhatIsDirectlyInIt(_ path: String, _ isSeen: Bool?) throws {
        let sight = try trigger(["/srv"]).sight(of: bytes(path))
        switch isSeen {
        case true?: #expect(sight == .seen(root: bytes("/srv")))
        case false?: #expect(sight == .tooDeep(root: bytes("/srv")))
        case nil: #expect(sight == nil)
        }
    }

    @Test func theRootFolderIsAboveAll() throws {
        let (flat, tree) = (try trigger(["/"]), try trigger(["/"], recursive: true))
        #expect(flat.sight(of: bytes("/a")) == .seen(root: bytes("/")))
        #expect(flat.sight(of: bytes("/a/b")) == .tooDeep(root: bytes("/")))
        #expect(tree.sight(of: bytes("/a/b")) == .seen(root: bytes("/")))
    }

    @Test func theFolderThatIsPrunedIsNamed() throws {
        let trigger = try trigger(["/srv"], recursive: true, prune: [".git", "a/cache"])
        #expect(
            trigger.sight(of: bytes("/srv/x/.git/objects/1"))
                == .pruned(folder: bytes("/srv/x/.git"), root: bytes("/srv")))
        #expect(
            trigger.sight(of: bytes("/srv/a/cache/1")) == .pruned(folder: bytes("/srv/a/cache"), root: bytes("/srv")))
        #expect(trigger.sight(of: bytes("/srv/b/cache/1")) == .seen(root: bytes("/srv")))
    }

    @Test func ofAFolderLessIsTold() throws {
        func sight(_ path: String, _ trigger: PathTrigger) -> PathSight? {
            trigger.sight(of: bytes(path), isFolder: true)
        }
        var tree = try trigger(["/srv"], recursive: true, prune: [".git"])
        #expect(sight("/srv", tree) == .root(bytes("/srv")))
        #expect(sight("/srv/a", tree) == .folder(root: bytes("/srv")))
        #expect(sight("/srv/.git", tree) == .pruned(folder: bytes("/srv/.git"), root: bytes("/srv")))
        #expect(try sight("/srv/a", trigger(["/srv"])) == .seen(root: bytes("/srv")))
        tree.events = .changed
        #expect(sight("/srv/a", tree) == .seen(root: bytes("/srv")))
        tree.events = .attributes
        #expect(sight("/srv", tree) == .seen(root: bytes("/srv")))
        var own = try trigger(["/srv"])
        own.ownEvents[bytes("/srv")] = .ofPathChanged
        #expect(sight("/srv", own) == .seen(root: bytes("/srv")))
        #expect(own.assignment(of: bytes("/srv")) == "PathChanged=/srv")
    }

    @Test func theFilterThatDecidesIsNamed() throws {
        let trigger = try trigger(["/srv"], include: ["*.jpg", "*.tmp"], exclude: ["x*", "*.tmp"])
        #expect(trigger.sight(of: bytes("/srv/a.jpg")) == .seen(root: bytes("/srv")))
        #expect(trigger.sight(of: bytes("/srv/a.png")) == .notIncluded(root: bytes("/srv")))
        let excluded = try PathSight.excluded(by: PathGlob(bytes("*.tmp")), root: bytes("/srv"))
        #expect(trigger.sight(of: bytes("/srv/a.tmp")) == excluded)
    }

    @Test func thePathThatSeesMostDecides() throws {
        let trigger = try trigger(["/srv", "/srv/a", "/srv/a/b.txt"])
        #expect(trigger.sight(of: bytes("/srv/a/b.txt")) == .seen(root: bytes("/srv/a")))
        #expect(trigger.sight(of: bytes("/srv/c/d")) == .tooDeep(root: bytes("/srv")))
    }
}
