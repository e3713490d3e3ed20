import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

/// Mounts and unmounts over and below what is watched, in a mount namespace of watchd's own.
@Suite("Mounts, end to end", .ownThread) struct MountTests {
    private static let launcher = ["unshare", "--mount", "--propagation", "private"]
    private static let canMount =
        (try? Program.run(launcher + ["mount", "-t", "tmpfs", "none", "/mnt"]).code) == 0

    private func with(
        _ more: String, path: String = "in", _ body: (Watchd, (String) throws -> Void) throws -> Void
    ) throws {
        let text = """
            [Path p]
            Path=@/\(path)
            \(more)
            Events=changed
            Key=%p
            Exec=/bin/sh -c 'echo "$WATCHD_EVENT $WATCHD_PATH"'
            StandardOutput=append:@/told
            """
        try Watchd.run(
            text, launcher: Self.launcher,
            prepare: { folder in
                for name in ["in", "in/d", "in/e", "other", "empty"] { try folder.makeFolder(name) }
                for name in ["in/f", "in/d/a", "in/e/b", "other/n"] { try folder.write(name, "text") }
            }
        ) { watchd in
            try wait(for: "it to be armed") { try watchd.source("p").state == .armed }
            try body(watchd) { commands in
                let words = ["nsenter", "--mount", "--target", "\(watchd.processID)", "sh", "-ec", commands]
                let made = try Program.run(words, folder: watchd.folder.path)
                #expect(made.status == .exited(0), "\(commands): \(made)")
            }
        }
    }

    private func told(_ watchd: Watchd) -> [String] {
        watchd.folder.lines("told").map { $0.replacing(watchd.folder["in"], with: "in") }
    }

    @Test(.enabled(if: canMount, "nothing can be mounted here"), arguments: ["Recursive=yes", ""])
    func whatIsMountedOverTheRootIsNews(more: String) throws {
        try with(more) { watchd, inside in
            let folder = watchd.folder.path
            // A mount of what is there already: no unmount is told to who watches it.
            try inside("mount --bind \(folder)/other \(folder)/in")
            try wait(for: "the file on it, not \(told(watchd))") { told(watchd).contains("written in/n") }
            try inside("echo > \(folder)/in/m")
            try wait(for: "it to be watched") { told(watchd).contains("written in/m") }
            try inside("until umount \(folder)/in; do sleep 0.1; done; echo > \(folder)/in/f")
            try wait(for: "what stood there before, not \(told(watchd))") { told(watchd).contains("written in/f") }
            try inside("echo > \(folder)/in/g")
            try wait(for: "it to be watched again") { told(watchd).contains("written in/g") }
        }
    }

    /// A disk that is mounted over the folder, and one that is gone again.
    @Test(.enabled(if: canMount, "nothing can be mounted here")) func whatWaitsForAPathSeesMounts() throws {
        try with("HoldUntil=path:@/other/n\nHoldUntil=path:@/empty/n") { watchd, inside in
            let folder = watchd.folder.path
            func waits(for place: String) throws {
                try wait(for: "it to wait for \(place)") {
                    try watchd.status().waiting.first?.waitingFor?.hasSuffix("\(place)/n: nothing is there") == true
                }
            }
            try inside("echo > \(folder)/in/g")
            try waits(for: "empty")
            try inside("mount -t tmpfs none \(folder)/other; mount --bind \(folder)/in/d \(folder)/empty")
            try waits(for: "other")
            try inside("echo > \(folder)/empty/n")
            try inside("umount \(folder)/other")
            try wait(for: "it to run, not \(told(watchd))") { told(watchd).contains("written in/g") }
            // The source itself keeps one.
            let count = "ls -l /proc/\(watchd.processID)/fd | grep -c /mountinfo"
            try wait(for: "the descriptors to be closed") { try Program.run(["sh", "-c", count]).text == "1\n" }
        }
    }

    /// As a disk's folder before it is plugged in for the first time.
    @Test(.enabled(if: canMount, "nothing can be mounted here"), arguments: ["Recursive=yes", ""])
    func aDiskThatComesOverAnEmptyFolderIsComparedWhenItComesAgain(more: String) throws {
        try with(more, path: "empty") { watchd, inside in
            let folder = watchd.folder.path
            func told() -> [String] { self.told(watchd).map { $0.replacing(watchd.folder["empty"], with: "e") } }
            try inside("mount -t tmpfs none \(folder)/other; cd \(folder)/other; echo > one; echo > two")
            try inside("mount --bind \(folder)/other \(folder)/empty")
            try wait(for: "the files, not \(told())") { Set(told()) == ["written e/one", "written e/two"] }
            let changes = [
                ("echo > new", "written e/new"), ("echo again > new", "written e/new"), ("rm two", "deleted e/two"),
            ]
            for (command, fact) in changes {
                try inside("until umount \(folder)/empty; do sleep 0.1; done; echo > \(folder)/empty/x")
                try wait(for: "the folder below, not \(told())") { told().last == "written e/x" }
                try inside("rm \(folder)/empty/x")
                try wait(for: "it to be empty, not \(told())") { told().last == "deleted e/x" }
                try inside("cd \(folder)/other; \(command); mount --bind \(folder)/other \(folder)/empty")
                try wait(for: "what has changed, not \(told())") { told().last == fact }
            }
            #expect(told().dropFirst(2).filter { !$0.hasSuffix("/x") } == changes.map(\.1))
        }
    }

    @Test(.enabled(if: canMount, "nothing can be mounted here"))
    func aConditionIsWatchedOnWhatIsMounted() throws {
        let text = "[Path p]\nDirectoryNotEmpty=@/in\nExec=/bin/sh -c 'n=$(ls @/in); rm @/in/$n; echo $n >> @/told'\n"
        try Watchd.run(text, launcher: Self.launcher, prepare: { try $0.makeFolder("in") }) { watchd in
            let place = watchd.folder["in"]
            try wait(for: "it to be armed") { try watchd.source("p").state == .armed }
            for round in 1...2 {
                let commands = "mount -t tmpfs none \(place); echo > \(place)/\(round)"
                let words = ["nsenter", "--mount", "--target", "\(watchd.processID)", "sh", "-ec"]
                #expect(try Program.run(words + [commands]).code == 0)
                try wait(for: "the file on it") { watchd.folder.lines("told").last == "\(round)" }
                let back = "until umount \(place); do sleep 0.1; done; echo > \(place)/back\(round)"
                #expect(try Program.run(words + [back]).code == 0)
                try wait(for: "the file below it") { watchd.folder.lines("told").last == "back\(round)" }
            }
        }
    }

    /// The mount table is as before.
    @Test(.enabled(if: canMount, "nothing can be mounted here"), arguments: ["in", "in/d"], ["Recursive=yes", ""])
    func whatIsMountedAgainAtOnceIsWatched(place: String, more: String) throws {
        guard place == "in" || !more.isEmpty else { return }
        try with(more) { watchd, inside in
            let folder = "\(watchd.folder.path)/\(place)"
            try inside("mount -t tmpfs none \(folder); echo > \(folder)/first")
            try wait(for: "it to be watched, not \(told(watchd))") { told(watchd).contains("written \(place)/first") }
            for round in 1...3 {
                try inside("until umount \(folder); do :; done; mount -t tmpfs none \(folder)")
                try inside("echo > \(folder)/\(round)")
                try wait(for: "round \(round), not \(told(watchd))") {
                    told(watchd).contains("written \(place)/\(round)")
                }
            }
        }
    }

    /// Its folders go with it, in any order: that says nothing of what stands in them.
    @Test(.enabled(if: canMount, "nothing can be mounted here"), arguments: ["Recursive=yes", ""])
    func whatStandsOnAFileSystemThatIsUnmountedIsNotDeleted(more: String) throws {
        try with(more) { watchd, inside in
            let folder = watchd.folder.path
            let fill = "for n in $(seq 20); do mkdir $n; echo > $n/x; echo > x$n; done"
            try inside("mount -t tmpfs none \(folder)/in; cd \(folder)/in; \(fill)")
            let names = (1...20).flatMap { more.isEmpty ? ["x\($0)"] : ["x\($0)", "\($0)/x"] }
            let files = Set(names.map { "written in/\($0)" })
            try wait(for: "all, not \(told(watchd))") { files.isSubset(of: told(watchd)) }
            try inside("until umount \(folder)/in; do sleep 0.1; done; echo > \(folder)/in/f")
            try wait(for: "what stood there before, not \(told(watchd))") { told(watchd).contains("written in/f") }
            try inside("echo > \(folder)/in/g")
            try wait(for: "it to be watched again") { told(watchd).contains("written in/g") }
            #expect(!told(watchd).contains { $0.hasPrefix("deleted") })
        }
    }

    @Test(.enabled(if: canMount, "nothing can be mounted here"), arguments: ["Recursive=yes", ""])
    func whatIsCoveredByAMountAboveTheRootIsNotDeleted(more: String) throws {
        try with(more, path: "in/d") { watchd, inside in
            let folder = watchd.folder["in"]
            try inside("mount -t tmpfs none \(folder); mkdir \(folder)/e")
            try wait(for: "the root to be missing") { try watchd.source("p").state == .waiting }
            try inside("mkdir \(folder)/d; echo > \(folder)/d/n")
            try wait(for: "what stands there instead, not \(told(watchd))") { told(watchd) == ["written in/d/n"] }
            try inside("until umount \(folder); do sleep 0.1; done; echo > \(folder)/d/b")
            try wait(for: "what is written afterwards, not \(told(watchd))") { told(watchd).last == "written in/d/b" }
            #expect(told(watchd) == ["written in/d/n", "written in/d/b"])
        }
    }

    @Test(.enabled(if: canMount, "nothing can be mounted here"), arguments: ["Recursive=yes", ""])
    func aFileThatIsCoveredByAMountAboveItIsNotDeleted(more: String) throws {
        try with(more, path: "in/d/a") { watchd, inside in
            let folder = watchd.folder["in"]
            try inside("mount -t tmpfs none \(folder); mkdir \(folder)/e")
            try wait(for: "the file to be missing") { try watchd.source("p").state == .waiting }
            try inside("mkdir \(folder)/d; echo > \(folder)/d/a")
            try wait(for: "what stands there instead, not \(told(watchd))") { told(watchd) == ["written in/d/a"] }
            try inside("until umount \(folder); do sleep 0.1; done; echo > \(folder)/d/a; rm \(folder)/d/a")
            try wait(for: "the end of the former file, not \(told(watchd))") { told(watchd).last == "deleted in/d/a" }
            #expect(!told(watchd).dropLast().contains { $0.hasPrefix("deleted") }, "\(told(watchd))")
        }
    }

    /// The file system that the root stands on goes: of what is below its own folder nothing is left to look at.
    @Test(.enabled(if: canMount, "nothing can be mounted here"), arguments: ["Recursive=yes", ""])
    func aRootOnAFileSystemThatIsUnmountedIsNotDeleted(more: String) throws {
        try with(more, path: "in/d") { watchd, inside in
            let (folder, disk) = (watchd.folder["in"], watchd.folder["other"])
            try inside("rm -r \(folder)/d")
            try wait(for: "the root to be missing") { try watchd.source("p").state == .waiting }
            // Another mount keeps the file system.
            let mount = "mount --bind \(disk) \(folder)"
            try inside("mount -t tmpfs none \(disk); mkdir \(disk)/d; echo > \(disk)/d/f; \(mount)")
            try wait(for: "the file, not \(told(watchd))") { told(watchd).last == "written in/d/f" }
            for round in 1...2 {
                try inside("until umount \(folder); do sleep 0.1; done")
                try wait(for: "the root to be missing") { try watchd.source("p").state == .waiting }
                try inside("\(mount); echo > \(disk)/d/\(round)")
                try wait(for: "what was written meanwhile, not \(told(watchd))") {
                    told(watchd).last == "written in/d/\(round)"
                }
            }
            #expect(told(watchd) == ["deleted in/d/a", "written in/d/f", "written in/d/1", "written in/d/2"])
        }
    }

    /// It has the number of the one before.
    @Test(.enabled(if: canMount, "nothing can be mounted here"), arguments: ["Recursive=yes", ""])
    func anotherFileSystemIsNotComparedWithTheFormerOne(more: String) throws {
        try with(more) { watchd, inside in
            let folder = "\(watchd.folder.path)/in"
            try inside("mount -t tmpfs none \(folder); echo > \(folder)/first")
            try wait(for: "the first, not \(told(watchd))") { told(watchd).contains("written in/first") }
            try inside("until umount \(folder); do sleep 0.1; done; echo > \(folder)/f")
            try wait(for: "what is below, not \(told(watchd))") { told(watchd).contains("written in/f") }
            try inside("mount -t tmpfs none \(folder); echo > \(folder)/second")
            try wait(for: "the second, not \(told(watchd))") { told(watchd).contains("written in/second") }
            try inside("echo > \(folder)/third")
            try wait(for: "the third, not \(told(watchd))") { told(watchd).contains("written in/third") }
            #expect(!told(watchd).contains { $0.hasPrefix("deleted") }, "\(told(watchd))")
        }
    }

    @Test(.enabled(if: canMount, "nothing can be mounted here"))
    func whatIsMountedBelowATreeIsCompared() throws {
        try with("Recursive=yes") { watchd, inside in
            let folder = watchd.folder.path
            try inside("mount --bind \(folder)/other \(folder)/in/d")
            try wait(for: "both, not \(told(watchd))") {
                Set(["written in/d/n", "deleted in/d/a"]).isSubset(of: told(watchd))
            }
            try inside("echo > \(folder)/in/d/m")
            try wait(for: "it to be watched") { told(watchd).contains("written in/d/m") }
            try inside("until umount \(folder)/in/d; do sleep 0.1; done")
            try wait(for: "what stood there before, not \(told(watchd))") {
                Set(["written in/d/a", "deleted in/d/n", "deleted in/d/m"]).isSubset(of: told(watchd))
            }
            try inside("echo > \(folder)/in/d/a; echo > \(folder)/in/e/b")
            try wait(for: "both to be watched") {
                told(watchd).count { $0 == "written in/d/a" } == 2 && told(watchd).contains("written in/e/b")
            }
            #expect(!told(watchd).contains("deleted in/e/b") && !told(watchd).contains("written in/f"))
        }
    }

    /// Another watchd finds it missing at its start, again and again.
    @Test(.enabled(if: canMount, "nothing can be mounted here"), arguments: ["Recursive=yes", ""])
    func aDiskThatIsMountedAfterTheStartIsComparedWithWhatWasHandledOnIt(more: String) throws {
        try Folder.with { folder in
            for name in ["disk", "in"] { try folder.makeFolder(name) }
            let null = try Linux.open("/dev/null").release()
            defer { FileDescriptor(owning: null).close() }
            let holder = try Program(
                (Self.launcher + ["sleep", "1000"]).map { Array($0.utf8) }, environment: Program.environment,
                descriptors: [null, null, null])
            let entering = ["nsenter", "--mount", "--target", "\(holder.processID)"]
            func inside(_ commands: String) throws {
                let made = try Program.run(entering + ["sh", "-ec", commands], folder: folder.path)
                #expect(made.code == 0, "\(commands): \(made)")
            }
            func told() -> [String] { folder.lines("told").map { $0.replacing(folder["in"], with: "in") } }
            let text = """
                [Path p]
                Path=@/in
                Events=changed
                Key=%p
                \(more)
                Exec=/bin/sh -c 'echo "$WATCHD_EVENT $WATCHD_PATH"'
                StandardOutput=append:@/told
                """
            func life(_ body: (Watchd) throws -> Void) throws {
                let watchd = try Watchd(folder, text, launcher: entering)
                try watchd.waitUntilReady()
                try wait(for: "it to be armed") { try watchd.source("p").state == .armed }
                try body(watchd)
                try wait(for: "its handlers") { try watchd.status().totals.outstanding == 0 }
                watchd.send(15)
                #expect(watchd.waitForEnd() == .exited(0))
            }
            try wait(for: "the namespace") {
                try Linux.stat("/proc/\(holder.processID)/ns/mnt").inode != Linux.stat("/proc/self/ns/mnt").inode
            }
            let disk = folder["disk"]
            let mount = "mount --bind \(disk) \(folder["in"])"
            try inside("mount -t tmpfs none \(disk); mkdir \(disk)/d; echo > \(disk)/a; echo > \(disk)/d/b; \(mount)")
            try life { _ in }
            for round in 1...2 {
                try inside("umount \(folder["in"])")
                try life { _ in
                    try inside("echo > \(folder["in"])/\(round)")
                    try wait(for: "what stands there instead") { told().last == "written in/\(round)" }
                    try inside("\(mount); echo more >> \(folder["in"])/a")
                    try wait(for: "what is written on the disk, not \(told())") { told().last == "written in/a" }
                }
            }
            #expect(told() == ["written in/1", "written in/a", "written in/2", "written in/a"])
        }
    }

    /// As in a container `/etc/hosts`: the file stands in another folder.
    @Test(.enabled(if: canMount, "nothing can be mounted here"), arguments: ["Recursive=yes", ""])
    func aFileThatIsMountedByItselfIsWatched(more: String) throws {
        try with(more, path: "in/f") { watchd, inside in
            let folder = watchd.folder.path
            func wait(until count: Int, _ what: String) throws {
                try ProgramKit.wait(for: "\(what), not \(told(watchd))") {
                    told(watchd).count { $0 == "written in/f" } == count
                }
            }
            try inside("mount --bind \(folder)/other/n \(folder)/in/f")
            try wait(until: 1, "the other file")
            try inside("echo > \(folder)/in/f")
            try wait(until: 2, "what is written by this name")
            try inside("echo more >> \(folder)/other/n")
            try wait(until: 3, "what is written by its own name")
            try inside("until umount \(folder)/in/f; do sleep 0.1; done")
            try wait(until: 4, "the former file")
            try inside("echo > \(folder)/other/n; echo > \(folder)/in/f")
            try wait(until: 5, "the former file alone")
        }
    }
}
