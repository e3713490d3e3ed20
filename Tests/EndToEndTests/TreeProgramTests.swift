import ControlInterface
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Changes that real programs make in a tree, and the news of them while a handler waits.
@Suite("Real programs in a tree, end to end", .ownThread) struct TreeProgramTests {
    struct Row {
        var setup: String
        var commands: String
        /// Told with `Events=changed`.
        var told: [String]
        var needs: String?

        init(_ commands: String, setup: String = "", _ told: [String], needs: String? = nil) {
            (self.setup, self.commands, self.told, self.needs) = (setup, commands, told, needs)
        }
    }

    private static let archive = "mkdir -p ../away/t/d; for n in 1 2 d/3; do echo $n > ../away/t/$n; done"
    private static let three = ["written t/1", "written t/2", "written t/d/3"]
    private static let git = """
        git init -q . && git config user.email a@b && git config user.name a && mkdir d && echo 1 > f1 && echo 2 > f2 \
        && echo 3 > f3 && git add . && git commit -qm one && git checkout -qb two && git rm -q f3 && echo 22 > f2 \
        && echo neu > d/neu && git add . && git commit -qam two && git checkout -q -
        """

    static let rows = [
        Row("tar -xf ../away/t.tar", setup: "\(archive); tar -C ../away -cf ../away/t.tar t", three, needs: "tar"),
        Row(
            "unzip -q ../away/t.zip", setup: "\(archive); cd ../away; python3 -m zipfile -c t.zip t", three,
            needs: "unzip"),
        Row("cp -a ../away/t .", setup: archive, three),
        Row("mv ../away/t .", setup: archive, three),
        Row("mkdir -p a/b/c/d; echo > a/b/c/d/f", ["written a/b/c/d/f"]),
        Row(
            "rsync -a --delete ../away/t/ .", setup: "\(archive); echo > old",
            ["deleted old", "written 1", "written 2", "written d/3"], needs: "rsync"),
        Row(
            "rsync -a --delay-updates ../away/t/ .", setup: archive, ["written 1", "written 2", "written d/3"],
            needs: "rsync"),
        Row(
            "dpkg -x ../away/p.deb .",
            setup: """
                mkdir -p ../away/p/DEBIAN ../away/p/usr/bin; echo > ../away/p/usr/bin/hello
                printf 'Package: p\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@b>\\nDescription: p\\n' \
                > ../away/p/DEBIAN/control; dpkg-deb -b ../away/p ../away/p.deb >/dev/null
                """, ["written usr/bin/hello"], needs: "dpkg-deb"),
        Row("git checkout -q two", setup: git, ["deleted f3", "written d/neu", "written f2"], needs: "git"),
        Row("echo 2 > f1; git stash -q; git stash pop -q", setup: git, ["written f1"], needs: "git"),
        Row(
            "git clone -q ../away r", setup: "cd ../away; \(git)", ["written r/f1", "written r/f2", "written r/f3"],
            needs: "git"),
        Row(
            "make -s -j2", setup: "printf 'all: a/x b/y\\na/x b/y:\\n\\tmkdir -p $(@D); echo > $@\\n' > Makefile",
            ["written a/x", "written b/y"], needs: "make"),
        Row("chmod -R go-rwx t; touch -d yesterday t", setup: "\(archive); mv ../away/t .", []),
    ]

    /// Of folders that stand there when the daemon starts: of one that came a moment ago nothing is told when it goes.
    static let rowsOfOldFolders = [
        Row(
            "mv t u", setup: "\(archive); mv ../away/t .",
            ["renamed t>u", "renamed t/1>u/1", "renamed t/2>u/2", "renamed t/d>u/d", "renamed t/d/3>u/d/3"]),
        Row(
            "mv t ../away", setup: "\(archive); mv ../away/t .",
            ["deleted t", "deleted t/1", "deleted t/2", "deleted t/d", "deleted t/d/3"]),
        Row(
            "rm -r t", setup: "\(archive); mv ../away/t .",
            ["deleted t", "deleted t/1", "deleted t/2", "deleted t/d", "deleted t/d/3"]),
        // A folder that has just been made takes the place of an old one: that is not deleted.
        Row(
            "rm -r t; mkdir n; mv n t", setup: "\(archive); mv ../away/t .",
            ["deleted t/1", "deleted t/2", "deleted t/d", "deleted t/d/3"]),
        Row(
            "rm -r t; mkdir n; echo > n/1; mv n t", setup: "\(archive); mv ../away/t .",
            ["deleted t/2", "deleted t/d", "deleted t/d/3", "written t/1"]),
        Row("cp -a t t.new; mv t t.old; mv t.new t; rm -r t.old", setup: "\(archive); mv ../away/t .", three),
        Row(
            "mkdir n; echo > n/1; mv t t.old; mv n t; rm -r t.old", setup: "\(archive); mv ../away/t .",
            ["deleted t/2", "deleted t/d", "deleted t/d/3", "written t/1"]),
        Row(
            "mkdir ..2 && echo 2 > ..2/key && ln -s ..2 ..data_tmp && mv -T ..data_tmp ..data && rm -r ..1",
            setup: "mkdir ..1 && echo 1 > ..1/key && ln -s ..1 ..data",
            ["deleted ..1", "deleted ..1/key", "written ..2/key", "written ..data"]),
    ]

    private static let watchFile = """
        [Queue told]
        [Path tree]
        Path=@/in
        Recursive=yes
        Prune=.git
        Events=changed
        Handler=note
        Queue=told
        [Handler note]
        Exec=/bin/cat
        StandardOutput=append:@/notes
        """

    @Test func theNewsOfEachIsToldOnceAndByItsName() throws {
        try Watchd.run(
            Self.watchFile, prepare: { for name in ["in", "away"] { try $0.makeFolder(name) } }
        ) { watchd in
            var skipped: [String] = []
            for (index, row) in Self.rows.enumerated() {
                if let program = row.needs, try Program.run(["which", program]).output.isEmpty {
                    skipped.append(program)
                    continue
                }
                try play(row, index, watchd)
            }
            if !skipped.isEmpty { print("not installed, and so not played: \(Set(skipped).sorted())") }
        }
    }

    @Test(arguments: rowsOfOldFolders.indices) func theNewsOfOldFoldersIsToldOnceAndByTheirNames(index: Int) throws {
        let row = Self.rowsOfOldFolders[index]
        try Watchd.run(
            Self.watchFile,
            prepare: { folder in
                for name in ["in", "away"] { try folder.makeFolder(name) }
                try run(row.setup, folder)
            }
        ) { watchd in try change(row, "\(index)", watchd) }
    }

    private func play(_ row: Row, _ index: Int, _ watchd: Watchd) throws {
        try run("find . ../away -mindepth 1 -delete; \(row.setup)", watchd.folder)
        try mark("before-\(index)", watchd)
        try change(row, "\(index)", watchd)
    }

    private func change(_ row: Row, _ name: String, _ watchd: Watchd) throws {
        let folder = watchd.folder
        try watchd.waitUntilIdle()
        try folder.write("notes", "")
        try watchd.suspend("queue/told")
        try run(row.commands, folder)
        try mark("after-\(name)", watchd, isSuspended: true)
        try watchd.resume("queue/told")
        try watchd.waitUntilIdle()
        let told = try told(folder).filter { !$0.contains("mark-") }
        #expect(told == row.told.sorted(), "\(row.commands)")
    }

    /// Everything that has happened before is told: a tree that is moved in takes the longest way.
    private func mark(_ name: String, _ watchd: Watchd, isSuspended: Bool = false) throws {
        let mark = "mark-\(name)"
        let before = try watchd.source("tree").counters.accepted
        try run("rm -rf mark-*; mkdir -p ../\(mark)/d; echo > ../\(mark)/d/f; mv ../\(mark) .", watchd.folder)
        guard isSuspended else {
            return try wait(for: "the mark \(name)") { watchd.folder.text("notes").contains("\(mark)/d/f") }
        }
        try wait(for: "the mark \(name) to be told") {
            guard try watchd.source("tree").counters.accepted > before else { return false }
            let waiting = try watchd.call(ListOperations.self, .init(handler: "note", state: .ready)).operations
            return try waiting.contains { operation in
                try watchd.operation(operation.id).events.contains { event in
                    event.members?["path"]?.string?.hasSuffix("\(mark)/d/f") ?? false
                }
            }
        }
    }

    private func run(_ commands: String, _ folder: Folder) throws {
        let result = try Program.run([
            "/usr/bin/env", "HOME=\(folder.path)", "TERM=dumb", "/bin/sh", "-c", "cd '\(folder["in"])'; \(commands)",
        ])
        #expect(result.status == .exited(0), "\(commands): \(result)")
    }

    private func told(_ folder: Folder) throws -> [String] {
        let root = folder["in"].utf8.count + 1
        return try folder.lines("notes").flatMap { line -> [String] in
            guard case .array(let events) = try JSON.decode(JSONValue.self, from: line.pathBytes).members?["events"]
            else { return [] }
            return events.compactMap { event -> String? in
                guard let members = event.members else { return nil }
                func name(_ key: String) -> String? {
                    members[key]?.string.map { String(decoding: Array($0.utf8).dropFirst(root), as: UTF8.self) }
                }
                let old = name("old_path").map { "\($0)>" } ?? ""
                let replaced = members["replaced"] == nil ? "" : "!"
                return "\(members["event"]?.string ?? "") \(old)\(name("path") ?? "")\(replaced)"
            }
        }.sorted()
    }
}
