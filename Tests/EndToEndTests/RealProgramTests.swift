import ControlInterface
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Changes that real programs make in a folder, and the news of them while a handler waits.
@Suite("Real programs, end to end", .ownThread) struct RealProgramTests {
    /// A program, and what it means.
    struct Row {
        /// Shell commands run in the folder.
        var setup = "echo one > f"
        var commands: String
        /// Told with `Events=written` and with `Events=changed`.
        var written: [String]
        var changed: [String]
        var needs: String?

        init(
            _ commands: String, setup: String = "echo one > f", _ written: [String] = ["written f"],
            changed: [String]? = nil, needs: String? = nil
        ) {
            (self.setup, self.commands, self.needs) = (setup, commands, needs)
            (self.written, self.changed) = (written, changed ?? written)
        }
    }

    private static let git = """
        git init -q . && git config user.email a@b && git config user.name a && echo 1 > f1 && echo 2 > f2 \
        && echo 3 > f3 && git add . && git commit -qm one && git checkout -qb two && git rm -q f3 && echo 22 > f2 \
        && git commit -qam two && git checkout -q -
        """

    static let rows = [
        Row("vim -N -u NONE -i NONE -es -c 'set swapfile' -c 'normal Gox' -c wq f", needs: "vim"),
        Row(
            "vim -N -u NONE -i NONE -es -c 'set swapfile backup writebackup backupcopy=no' -c 'normal Gox' -c wq f; rm -f f~",
            needs: "vim"),
        Row("vim -N -u NONE -i NONE -es -c 'normal ix' -c wq n", ["written n"], needs: "vim"),
        Row("emacs -Q --batch f --eval '(progn (insert \"x\") (save-buffer))'; rm -f f~", needs: "emacs"),
        // nano, by the calls it makes.
        Row(": > .f.swp; echo lock >> .f.swp; rm .f.swp; echo lock > .f.swp; echo two > f; rm .f.swp"),
        Row("sed -i s/one/two/ f", needs: "sed"),
        Row("perl -i -pe s/one/two/ f", needs: "perl"),
        Row("echo two >> f"), Row("echo one > f"), Row("touch n", ["written n"]), Row("truncate -s 9 f"),
        Row("printf x | dd of=f conv=notrunc status=none"), Row("fallocate -l 9 f", needs: "fallocate"),
        Row("exec 3<> old", setup: "", []),
        Row("echo two > /tmp/watchd.$$; cp /tmp/watchd.$$ f; rm /tmp/watchd.$$"),
        Row("cp -a f n", ["written n"]), Row("cp --reflink=auto f n", ["written n"]),
        Row("install -m 600 f n", ["written n"]),
        Row("mv f g", ["written g"], changed: ["renamed f>g"]),
        Row("mv f g", setup: "echo 1 > f; echo 2 > g", ["written g"], changed: ["renamed f>g!"]),
        Row("mv ../away n", setup: "echo 1 > ../away", ["written n"]),
        Row("mv ../away f", setup: "echo 1 > ../away; echo 2 > f"),
        Row("mv f ../away", [], changed: ["deleted f"]), Row("rm f", [], changed: ["deleted f"]),
        Row(
            "python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\"f\", -100, b\"g\", 2)'",
            setup: "echo 1 > f; echo 2 > g", ["written f", "written g"], needs: "python3"),
        Row("ln -s nowhere l", ["written l"]), Row("ln -sfn there l", setup: "ln -s here l", ["written l"]),
        Row(
            "mkdir ..2 && echo 2 > ..2/key && ln -s ..2 ..data_tmp && mv -T ..data_tmp ..data && rm -r ..1",
            setup: "mkdir ..1 && echo 1 > ..1/key && ln -s ..1 ..data", ["written ..data"],
            changed: ["deleted ..1", "written ..data"]),
        Row("ln f h", ["written h"]),
        Row(
            """
            python3 -c 'import ctypes, os
            t = os.open(".", os.O_TMPFILE | os.O_RDWR)
            os.write(t, b"whole")
            ctypes.CDLL(None).linkat(-100, b"/proc/self/fd/%d" % t, -100, b"t", 0x400)'
            """, ["written t"], needs: "python3"),
        Row(
            """
            python3 -c 'import ctypes, os, time
            t = os.open(".", os.O_TMPFILE | os.O_RDWR)
            ctypes.CDLL(None).linkat(-100, b"/proc/self/fd/%d" % t, -100, b"t", 0x400)
            time.sleep(0.1)
            os.write(t, b"whole")'
            """, ["written t"], needs: "python3"),
        Row("chmod 600 f", []),
        Row("rsync ../away n", setup: "echo 1 > ../away", ["written n"], needs: "rsync"),
        Row("rsync ../away f", setup: "echo one > ../away; echo 2 > f", needs: "rsync"),
        // rsync, by the calls it makes.
        Row("echo x > .f.AkDrj2; chmod 644 .f.AkDrj2; touch -d yesterday .f.AkDrj2; mv .f.AkDrj2 f"),
        Row(
            "git checkout -q two", setup: Self.git, ["written f2"], changed: ["deleted f3", "written f2"], needs: "git"),
        Row("echo 2 > f1; git stash -q; git stash pop -q", setup: Self.git, ["written f1"], needs: "git"),
        Row("curl -so n file://$PWD/f", ["written n"], needs: "curl"),
        Row(
            "mv log log.1; echo new > log", setup: "echo 1 > log", ["written log", "written log.1"],
            changed: ["renamed log>log.1", "written log"]),
        Row("cp log log.1; : > log", setup: "echo 1 > log", ["written log", "written log.1"]),
        Row(
            "sqlite3 db 'insert into t values (2)'",
            setup: "sqlite3 db 'create table t (a); insert into t values (1)'", ["written db"], needs: "sqlite3"),
        Row(
            "sqlite3 db 'insert into t values (2)'",
            setup: "sqlite3 db 'pragma journal_mode=wal; create table t (a)'", ["written db"], needs: "sqlite3"),
    ]

    private static let watchFile = """
        [Queue told]
        [Path written]
        Path=@/in
        Handler=note
        Queue=told
        [Path changed]
        Path=@/in
        Events=changed
        Handler=note
        Queue=told
        [Handler note]
        Exec=/bin/cat
        StandardOutput=append:@/notes
        [Path marks]
        Path=@/marks
        Exec=/bin/sh -c 'echo "${WATCHD_PATH##*/}"'
        StandardOutput=append:@/marked
        """

    @Test func theNewsOfEachIsToldOnceAndByItsName() throws {
        try Watchd.run(
            Self.watchFile,
            prepare: { folder in
                for name in ["in", "marks"] { try folder.makeFolder(name) }
                try folder.write("in/old", "")
            }
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

    private func play(_ row: Row, _ index: Int, _ watchd: Watchd) throws {
        let folder = watchd.folder
        try run("find . -mindepth 1 -not -name old -delete; \(row.setup)", folder)
        // A file that a link has brought is looked at a moment later.
        try mark("before-\(index)", watchd)
        try watchd.waitUntilIdle()
        try folder.write("notes", "")
        let before = try ["written", "changed"].map { try watchd.source($0).counters.accepted }
        try watchd.suspend("queue/told")
        try run(row.commands, folder)
        try mark("after-\(index)", watchd)
        try wait(for: "something to be told of \(row.commands)") {
            let now = try ["written", "changed"].map { try watchd.source($0).counters.accepted }
            return (row.written.isEmpty || now[0] > before[0]) && (row.changed.isEmpty || now[1] > before[1])
        }
        try watchd.resume("queue/told")
        try watchd.waitUntilIdle()
        for (source, expected) in [("written", row.written), ("changed", row.changed)] {
            #expect(try told(source, folder) == expected, "\(row.commands), Events=\(source)")
        }
    }

    /// Everything that has happened before is told.
    private func mark(_ name: String, _ watchd: Watchd) throws {
        try watchd.folder.write("marks/\(name)", "")
        try wait(for: "the mark \(name)") { watchd.folder.lines("marked").contains(name) }
    }

    private func run(_ commands: String, _ folder: Folder) throws {
        let result = try Program.run([
            "/usr/bin/env", "HOME=\(folder.path)", "TERM=dumb", "/bin/sh", "-c", "cd '\(folder["in"])'; \(commands)",
        ])
        #expect(result.status == .exited(0), "\(commands): \(result)")
    }

    private func told(_ source: String, _ folder: Folder) throws -> [String] {
        try folder.lines("notes").flatMap { line -> [String] in
            guard case .array(let events) = try JSON.decode(JSONValue.self, from: line.pathBytes).members?["events"]
            else { return [] }
            return events.compactMap { event -> String? in
                guard let members = event.members, members["source"] == .string(source) else { return nil }
                func name(_ key: String) -> String? {
                    members[key]?.string.map { $0.split(separator: "/").last.map(String.init) ?? $0 }
                }
                let old = name("old_path").map { "\($0)>" } ?? ""
                let replaced = members["replaced"] == nil ? "" : "!"
                return "\(members["event"]?.string ?? "") \(old)\(name("path") ?? "")\(replaced)"
            }
        }.sorted()
    }
}
