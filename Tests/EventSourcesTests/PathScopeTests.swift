import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// `Path=` with globs: what matches, now or later.
@Suite("Paths with globs", .ownThread) struct PathScopeTests {
    /// With `a/in/x`, `a/more/x`, `b/x` and `.c/in/x`.
    private func with(
        _ patterns: [String] = ["*/in"], isRecursive: Bool = false, _ body: (inout HandledSetup) throws -> Void
    ) throws {
        try HandledSetup.with(["a/in/x", "a/more/x", "b/x", ".c/in/x"]) { setup in
            setup.patterns = patterns + ["last"]
            setup.isRecursive = isRecursive
            try body(&setup)
        }
    }

    private func shell(_ text: String, _ setup: HandledSetup) throws {
        try TreeSetup.shell(text, in: setup.folder["in"])
    }

    /// Exactly these are told after it.
    private func expect(_ told: [String], after text: String, _ life: HandledLife) throws {
        let seen = life.told.count
        try shell("\(text); echo >>last", life.setup)
        func news() -> [String] { life.told.dropFirst(seen).filter { !$0.hasSuffix("last") } }
        try wait(for: "\(told), not \(news())") {
            life.told.dropFirst(seen).contains("written last") && news().sorted() == told.sorted()
        }
    }

    @Test func theFilesInFoldersThatMatchAreTold() throws {
        try with { setup in
            try setup.live { life in
                try expect(["written a/in/x", "written a/in/y"], after: "echo >a/in/x; echo >a/in/y", life)
                try expect([], after: "echo >x; echo >a/x; echo >a/more/x; echo >b/x; echo >.c/in/x", life)
                try expect([], after: "mkdir -p a/in/d/in; echo >a/in/d/x", life)
            }
        }
    }

    @Test func whatMatchesLaterIsToldAsAWhole() throws {
        try with { setup in
            try setup.live { life in
                try expect(["written d/in/x"], after: "mkdir -p d/in; echo >d/in/x", life)
                try expect(["written b/in/x"], after: "mv a/more b/in", life)
            }
        }
    }

    @Test func whatMatchesNoMoreIsDeleted() throws {
        try with { setup in
            try setup.live { life in
                life.rim.on(life.source) { source in
                    let roots = (source as? PathSource)?.roots ?? []
                    for case let root as TreeRoot in roots { root.fleeting = 600_000_000 }
                }
                try expect(["renamed a/in d/in", "renamed a/in/x d/in/x"], after: "mv a d", life)
                try expect(["deleted d/in/x", "deleted d/in"], after: "mv d/in d/out", life)
                try expect(["written d/in/x"], after: "mv d/out d/in", life)
                // The folder has just come, and is nobody's news.
                try expect(["deleted d/in/x"], after: "mv d .d", life)
            }
        }
    }

    @Test func filesThatMatchAreTold() throws {
        try with(["*.txt", "*/[xy]"]) { setup in
            try setup.live { life in
                let all = "echo >a.txt; echo >a.dat; echo >b/y; echo >b/z"
                try expect(["written a.txt", "written b/y"], after: all, life)
                try expect(["written d.txt"], after: "mv a.dat d.txt", life)
                try expect(["deleted d.txt"], after: "mv d.txt d", life)
                try expect(["renamed a.txt b.txt"], after: "mv a.txt b.txt", life)
            }
        }
    }

    @Test func recursiveTellsOfEverythingBelowWhatMatches() throws {
        try with(isRecursive: true) { setup in
            try setup.live { life in
                try expect(["written a/in/d/e/x"], after: "mkdir -p a/in/d/e; echo >a/in/d/e/x; echo >a/more/x", life)
            }
        }
    }

    @Test func aPathWithoutGlobsStandsBesideOneWith() throws {
        try with(["*/in", ""]) { setup in
            try setup.live { life in
                try expect(["written x", "written a/in/x"], after: "echo >x; echo >a/in/x; echo >a/x", life)
            }
        }
    }

    @Test(arguments: [false, true]) func ofPathsThatOverlapTheFirstTells(isGlobFirst: Bool) throws {
        try with(["*"]) { setup in
            let (glob, plain) = (setup.root, setup.root + "/a".pathBytes)
            try setup.live { life in
                life.reopen { $0.paths = isGlobFirst ? [glob, plain] : [plain, glob] }
                try expect(["written a/x", "written b/x"], after: "echo >a/x; echo >b/x", life)
                let root = life.rim.paths.first { $0.path.ends(with: "a/x") }?.root
                #expect(root == (isGlobFirst ? glob : plain))
            }
        }
    }

    /// Where neither is a tree.
    @Test(arguments: [false, true]) func ofAFolderAndAFileInItTheFirstTells(isFolderFirst: Bool) throws {
        try HandledSetup.with(["x"]) { setup in
            let (folder, file) = (setup.root, setup.root + "/x".pathBytes)
            try setup.live { life in
                life.reopen { $0.paths = isFolderFirst ? [folder, file] : [file, folder] }
                try shell("echo >x; echo >y", setup)
                try wait(for: "both, not \(life.told)") { Set(life.told).count == 2 }
                try shell("echo >z", setup)
                try wait(for: "the last one") { life.told.contains { $0.hasPrefix("written z") } }
                let facts = life.rim.paths.filter { $0.path == file }
                #expect(facts.map(\.root) == [isFolderFirst ? folder : file])
            }
        }
    }

    // MARK: Lives

    @Test func whatChangedMeanwhileIsTold() throws {
        try with { setup in
            try setup.begin()
            try shell("echo new >a/in/x; echo new >b/x; mkdir b/in; echo >b/in/x; rm -r .c", setup)
            try setup.live { life in
                try wait(for: "the changes, not \(life.told)") {
                    life.told.sorted() == ["written a/in/x*", "written b/in/x*"]
                }
                try life.handleAll()
            }
            try shell("mv a/in a/out", setup)
            try setup.live { life in
                try wait(for: "the end, not \(life.told)") { life.told == ["deleted a/in/x*", "deleted a/in*"] }
                try life.handleAll()
            }
        }
    }

    /// Until now `more`, from now on `in` as well.
    @Test(arguments: [false, true]) func otherGlobsTellNothingOfWhatTheyNewlyLetIn(isRestart: Bool) throws {
        try with(["*/more"]) { setup in
            try setup.live { life in
                try life.handleAll()
                try shell("echo new >a/in/x", setup)
                setup.patterns = ["*/more", "*/in", "last"]
                if !isRestart {
                    // Files are written before the reload, by a clock that is a tick behind.
                    let written = try Linux.lstat(setup.folder["in/a/in/x"]).changed
                    try wait(for: "20 ms") { Linux.now(.realtime) * 1000 - written > 20_000_000 }
                    life.reopen { $0.scopes = setup.trigger.scopes }
                    try wait(for: "it to be known") { setup.stored.contains("a/in/x") }
                    try expect(["written a/in/y"], after: "echo >a/in/y", life)
                    try life.handleAll()
                }
            }
            if isRestart {
                try setup.live { life in
                    try life.waitUntilCompared()
                    try expect(["written a/in/y"], after: "echo >a/in/y", life)
                    try life.handleAll()
                }
            }
            let scope = setup.store.root(setup.root, of: SourceID(.path, "test"))?.scope
            #expect(scope?.patterns == setup.trigger.scopes[setup.root]?.patterns.map(\.description))
        }
    }

    @Test(arguments: [false, true]) func globsAndAPlainPathTakeOverFromEachOther(isGlobFirst: Bool) throws {
        try with { setup in
            let scopes = setup.trigger.scopes
            if !isGlobFirst { setup.patterns = [] }
            try setup.live { life in
                try life.handleAll()
                life.reopen { $0.scopes = isGlobFirst ? [:] : scopes }
                if isGlobFirst {
                    try shell("echo >y; echo >a/in/x", setup)
                    try wait(for: "it, not \(life.told)") {
                        life.told.map { $0.replacing("*", with: "") } == ["written y"]
                    }
                } else {
                    try wait(for: "it to be known") { setup.stored.contains("a/in/x") }
                    try expect(["written a/in/x"], after: "echo >y; echo >a/in/x", life)
                }
                try life.handleAll()
            }
        }
    }

    @Test func aFolderBeforeTheFirstGlobThatComesLaterIsWaitedFor() throws {
        try with { setup in
            try shell("mv a ../a; rm -r b .c; cd ..; rmdir in", setup)
            try setup.live(isArmed: false) { life in
                try TreeSetup.shell("mkdir in; mv a in/a", in: setup.folder[""])
                try wait(for: "it, not \(life.told)") {
                    life.told.map { $0.replacing("*", with: "") } == ["written a/in/x"]
                }
            }
        }
    }
}

extension [UInt8] {
    fileprivate func ends(with text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}
