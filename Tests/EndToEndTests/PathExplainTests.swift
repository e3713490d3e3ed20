import ControlInterface
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// `watchctl explain PATH`: which sources see a path, why others do not, and what became of its events.
@Suite("Explain of paths, end to end", .ownThread) struct PathExplainTests {
    private static let text = """
        [Path flat]
        Path=@/in
        Include=*.jpg *.tmp
        Exclude=*.tmp
        Exec=/bin/true %@
        [Path tree]
        Path=@/in
        Recursive=yes
        Initial=none
        Prune=.git
        Exec=/bin/true %@
        [Path away]
        Path=@/not-there
        Exec=/bin/true %@

        """

    private func withWatchd(_ body: (Watchd, (String) throws -> [Explain.Step]) throws -> Void) throws {
        try Watchd.run(Self.text, prepare: { try $0.makeFolder("in") }) { watchd in
            try wait(for: "both are armed") {
                let sources = try watchd.call(ListSources.self, .init()).sources
                return sources.count(where: { $0.state == .armed }) == 2
            }
            try body(watchd) { try watchd.call(Explain.self, .init(path: watchd.folder[$0])).steps }
        }
    }

    @Test func whatWasToldAndWhatBecameOfItComesFirst() throws {
        try withWatchd { watchd, steps in
            try watchd.folder.write("in/a.jpg", "x")
            try wait(for: "both have run") {
                try steps("in/a.jpg").count(where: { $0.code == "ended" }) == 2
            }
            let found = try steps("in/a.jpg")
            let past = found.filter { $0.time != nil }
            #expect(past.first?.code == "told")
            #expect(past.count(where: { $0.code == "told" }) == 2, "\(past)")
            #expect(past.first?.sentence.contains("written \(watchd.folder["in/a.jpg"])") == true, "\(past)")
            let now = found.filter { $0.time == nil }
            #expect(now.map(\.code) == ["seen", "armed", "seen", "armed"], "\(now)")
            #expect(now.first?.section == "path/flat" && now.first?.line != nil, "\(now)")
        }
    }

    @Test func whatSettlesAndWhatStandsBehindALinkIsSaid() throws {
        let text = """
            [Path slow]
            Path=@/in
            Recursive=yes
            SettleSec=1h
            MaxSettleSec=2h
            Log=%p
            Key=%p

            """
        let links = "mkdir -p in/d out; ln -s ../out in/l"
        try Watchd.run(
            text,
            prepare: { folder in
                let made = try Program.run(["sh", "-ec", links], folder: folder.path)
                #expect(made.code == 0)
            }
        ) { watchd in
            try wait(for: "it to be armed") { try watchd.source("path/slow").state == .armed }
            func steps(_ path: String) throws -> [String] {
                let steps = try watchd.call(Explain.self, .init(path: watchd.folder[path])).steps
                return steps.map { "\($0.code) \($0.sentence)" }
            }
            try watchd.folder.write("in/f", "x")
            try wait(for: "it to be told") { try steps("in/f").contains { $0.hasPrefix("told") } }
            let settling = try steps("in/f")
            #expect(settling.contains { $0.hasPrefix("settle ") && $0.contains("more") }, "\(settling)")
            let behind = try steps("in/l/f")
            let sentence = "unseen path/slow: Path=\(watchd.folder["in"]) does not see it: without FollowSymlinks=yes "
            #expect(behind == [sentence + "\(watchd.folder["in/l"]) is not followed"])
            let link = try steps("in/l")
            #expect(link.first?.hasPrefix("seen") == true, "\(link)")
        }
    }

    @Test func whatNoEventComesOfIsSaid() throws {
        let text = """
            [Path links]
            Path=@/in
            Recursive=yes
            FollowSymlinks=yes
            Prune=no
            Poll=yes
            Exec=/bin/true
            [Path full]
            DirectoryNotEmpty=@/full
            Exec=/bin/true
            [Path own]
            PathChanged=@/own
            Exec=/bin/true

            """
        let made = "mkdir -p in/no in/d out full own; ln -s .. in/up; ln -s /proc in/proc; ln -s ../out in/out"
        try Watchd.run(
            text,
            prepare: { folder in
                let made = try Program.run(["sh", "-ec", made], folder: folder.path)
                #expect(made.code == 0)
            }
        ) { watchd in
            func said(_ path: String) throws -> String? {
                let steps = try watchd.call(Explain.self, .init(path: watchd.folder[path])).steps
                return steps.first.map { "\($0.code) \($0.sentence.replacing(watchd.folder.path, with: "@"))" }
            }
            func expect(_ path: String, _ words: String) throws {
                let sentence = try said(path)
                #expect(sentence == words)
            }
            let links = "path/links: Path=@/in does not see it:"
            for (path, words) in [
                ("in", "excluded path/links: Path=@/in tells of what is in it, not of the folder itself"),
                (
                    "in/d",
                    "excluded path/links: Path=@/in does not tell of it: a folder is never written, and Events= asks for nothing else"
                ),
                ("in/no", "pruned \(links) Prune= leaves out @/in/no"),
                (
                    "in/up/x",
                    "unseen \(links) @/in/up is not followed, as it leads to a folder on the way to it, or above one"
                ),
                (
                    "in/proc/1",
                    "unseen \(links) @/in/proc is not followed, as it leads to what the kernel makes as it is read"
                ),
                ("in/out/x", "seen path/links: Path=@/in sees it: written starts links; compared every 30s"),
                ("full/.x", "excluded path/full: DirectoryNotEmpty=@/full does not count hidden files and backups"),
                (
                    "own/a/b",
                    "not-recursive path/own: PathChanged=@/own without Recursive=yes sees only what is directly in it"
                ),
            ] {
                try expect(path, words)
            }
        }
    }

    @Test func aConditionIsAboutItsPaths() throws {
        let text = """
            [Path flag]
            PathExists=@/flag
            Exec=/bin/true
            [Path jobs]
            PathExistsGlob=@/jobs/*.job
            Exec=/bin/true
            [Path full]
            DirectoryNotEmpty=@/full
            Exec=/bin/true

            """
        try Watchd.run(text) { watchd in
            for (path, sources) in [
                ("flag", ["path/flag"]), ("jobs/1.job", ["path/jobs"]), ("full/x", ["path/full"]),
                ("full", ["path/full"]), ("flag/x", []), ("jobs", []), ("jobs/1.txt", []), ("jobs/.1.job", []),
                ("full/x/y", []),
            ] {
                let steps = try watchd.call(Explain.self, .init(path: watchd.folder[path])).steps
                #expect(steps.filter { $0.code == "seen" }.compactMap(\.section) == sources, "\(path)")
            }
        }
    }

    @Test func whyItIsNotToldIsNamed() throws {
        try withWatchd { watchd, steps in
            func codes(_ path: String) throws -> [String] { try steps(path).map(\.code) }
            #expect(try codes("in/a.tmp") == ["excluded", "seen", "armed"])
            #expect(try codes("in/a.png") == ["excluded", "seen", "armed"])
            #expect(try codes("in/sub/a.jpg") == ["not-recursive", "seen", "armed"])
            #expect(try codes("in/.git/index") == ["not-recursive", "pruned"])
            #expect(try codes("not-there/a") == ["seen", "unarmed"])
            #expect(try codes("elsewhere") == ["unseen"])
            #expect(try codes("state/watchd.db") == ["unseen"])
            // Folders above see what is below them.
            #expect(try codes("in/../in/./a.tmp") == ["excluded", "seen", "armed"])
            let above = try steps("")
            #expect(above.count == 3 && above.allSatisfy { $0.code == "unseen" && $0.section != nil }, "\(above)")
        }
    }

    @Test func theLineOfTheIgnoreFileIsNamed() throws {
        let text = "[Path tree]\nPath=@/in\nRecursive=yes\nInitial=none\nIgnoreFile=.gitignore\nExec=/bin/true %@\n"
        try Watchd.run(
            text,
            prepare: { folder in
                try folder.makeFolder("in")
                try folder.makeFolder("in/d")
                try folder.write("in/.gitignore", "# made\nbuild/\n*.o\n")
                try folder.write("in/d/.gitignore", "!a.o\n")
            }
        ) { watchd in
            try wait(for: "it to be armed") {
                try watchd.call(ListSources.self, .init()).sources.first?.state == .armed
            }
            func sentence(_ path: String) throws -> String {
                try watchd.call(Explain.self, .init(path: watchd.folder[path])).steps.first?.sentence ?? ""
            }
            let root = watchd.folder["in"]
            #expect(
                try sentence("in/d/b.o")
                    == "path/tree: Path=\(root) does not tell of it: IgnoreFile=, line 3 of \(root)/.gitignore, *.o")
            #expect(try sentence("in/d/a.o").contains("sees it"))
            try watchd.folder.makeFolder("in/build")
            let leftOut = "IgnoreFile= leaves out \(root)/build, line 2 of \(root)/.gitignore, build/"
            #expect(try sentence("in/build/deep/x") == "path/tree: Path=\(root) does not see it: \(leftOut)")
            let codes = try watchd.call(Explain.self, .init(path: watchd.folder["in/d/b.o"])).steps.map(\.code)
            #expect(codes == ["ignored"])
            // A person reads it.
            let end = try watchd.control("explain", watchd.folder["in/d/b.o"])
            #expect(end.code == 0 && end.text.contains("line 3 of"), "\(end)")
        }
    }

    @Test func itIsAskedForByAnOperandWithASlashInFront() throws {
        try withWatchd { watchd, _ in
            let end = try watchd.control("explain", watchd.folder["in/a.tmp"])
            #expect(end.code == 0 && end.text.contains("Exclude=*.tmp"), "\(end)")
            let other = try watchd.control("explain", "in/a.tmp")
            #expect(other.code == 1 && other.errorText.contains("no queue, handler, source"), "\(other)")
        }
    }

    @Test func aRelativePathIsNoPath() throws {
        try withWatchd { watchd, _ in
            #expect(throws: ClientError.self) { try watchd.call(Explain.self, .init(path: "in/a.tmp")) }
        }
    }
}
