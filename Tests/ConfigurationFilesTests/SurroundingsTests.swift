import ConfigurationFiles
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@Suite("What the watch files name") struct SurroundingsTests {
    private func warnings(_ text: String) -> [String] {
        var context = LoadContext(processors: 1)
        context.lookAround()
        let result = WatchFile.load([WatchFileText(file: "a.watch", bytes: Array(text.utf8))], context: context)
        return result.diagnostics.map(\.message)
    }

    @Test func aProgramThatIsMissingOrCannotBeRunIsWarnedOf() throws {
        try withTemporaryFolder { folder in
            try Linux.writeFile("\(folder)/text", "echo\n")
            func exec(_ command: String, _ more: String = "") -> [String] {
                warnings("[Custom a]\nExec=\(command)\n\(more)")
            }
            #expect(exec("/bin/sh -c true") == [])
            #expect(exec("sh -c true") == [])
            #expect(exec("\(folder)/missing %{data}") == ["\(folder)/missing is missing"])
            #expect(exec("\(folder)/text/x") == ["\(folder)/text/x is missing"])
            #expect(exec("\(folder)/text") == ["\(folder)/text is not executable (chmod +x)"])
            #expect(exec("\(folder)") == ["\(folder) is a folder, not a program"])
            #expect(exec("no-such-program-here").first?.hasPrefix("no-such-program-here is missing in PATH (") == true)
            #expect(exec("no-such-program-here", "Environment=PATH=/opt/bin\n") == [])
            #expect(exec("/bin/true", "ExecCondition=\(folder)/missing\n") == ["\(folder)/missing is missing"])
            #expect(
                warnings("[Process p]\nCommand=\(folder)/missing\n") == ["\(folder)/missing is missing"])
            // Told of as what it is.
            #expect(exec("cd /srv").count == 1)
        }
    }

    @Test func aPathThatIsMissingIsWarnedOfUnlessItIsMade() throws {
        try withTemporaryFolder { folder in
            try Linux.mkdir("\(folder)/in", mode: 0o755)
            let waits = "does not exist: watchd waits until somebody makes it (MakeDirectory=yes makes a folder)"
            #expect(warnings("[Path p]\nPath=\(folder)/in \(folder)/inn\nLog=x\n") == ["\(folder)/inn \(waits)"])
            #expect(warnings("[Path p]\nPathChanged=\(folder)/inn\nLog=x\n") == ["\(folder)/inn \(waits)"])
            #expect(warnings("[Path p]\nPath=\(folder)/inn\nMakeDirectory=yes\nLog=x\n") == [])
            #expect(warnings("[Path p]\nPathExists=\(folder)/inn\nLog=x\n") == [])
        }
    }

    @Test func aFileToFollowMayComeLaterButNotItsFolder() throws {
        try withTemporaryFolder { folder in
            let gone = "\(folder)/gone does not exist: watchd waits until somebody makes it"
            #expect(warnings("[Descriptor d]\nTail=\(folder)/gone/x.log\nLog=x\n") == [gone])
            #expect(warnings("[Descriptor d]\nTail=\(folder)/x.log\nLog=x\n") == [])
            #expect(warnings("[Descriptor d]\nTail=/no-such-log\nLog=x\n") == [])
        }
    }

    @Test func aUserOrGroupThatIsMissingIsAnErrorWithTheNearestName() {
        func found(_ text: String, refuses: Bool = true) -> [String] {
            var context = LoadContext(processors: 1)
            context.lookAround()
            context.refusesUnknownAccounts = refuses
            let result = WatchFile.load([WatchFileText(file: "a.watch", bytes: Array(text.utf8))], context: context)
            return result.diagnostics.map { "\($0.severity.rawValue): \($0.sentence)" }
        }
        let handler = "[Custom a]\nExec=/bin/true\n"
        #expect(found(handler + "User=daemon\nGroup=adm\nSupplementaryGroups=0 4711\n") == [])
        #expect(
            found(handler + "User=daemno\n") == ["error: User=daemno: there is no such user; did you mean daemon?"])
        #expect(
            found(handler + "SupplementaryGroups=adm no-such-group-here\n")
                == ["error: SupplementaryGroups=no-such-group-here: there is no such group"])
        #expect(
            found("[Process p]\nCommand=/bin/true\nGroup=no-such-group-here\n")
                == ["error: Group=no-such-group-here: there is no such group"])
        #expect(
            found("[Handler]\nUser=no-such-user-here\n" + handler + "[Custom b]\nLog=x\n", refuses: false) == [
                "warning: User=no-such-user-here: there is no such user now; its runs fail until there is one"
            ])
    }

    @Test func filesBelowAFolderThatHasNoneAreWarnedOf() throws {
        try withTemporaryFolder { root in
            for name in ["/in", "/in/2026", "/in/done", "/in/empty", "/in/2025"] {
                try Linux.mkdir(root + name, mode: 0o755)
            }
            for name in ["2026/a", "2025/b", "done/c"] { try Linux.writeFile("\(root)/in/\(name)", "x") }
            func path(_ more: String = "", _ others: String = "") -> [String] {
                warnings("[Path p]\nPath=\(root)/in\nExec=/bin/true\n\(more)\(others)")
            }
            #expect(path().count == 1)
            #expect(path().first?.contains("(2025, 2026)") == true)
            #expect(path("Path=\(root)/in/2026 \(root)/in/2025\n") == [])
            #expect(path("Events=created\n") == [])
            #expect(path("", "[Path q]\nPath=\(root)/in/2026\nLog=x\n").first?.contains("(2025)") == true)
            try Linux.writeFile("\(root)/in/own", "x")
            #expect(path() == [])
        }
    }

    @Test func aFileWithAnotherNameThatBeginsAsAWatchFileIsWarnedOf() throws {
        try withTemporaryFolder { folder in
            let text = "# a timer\n\n  [Timer t]\nEverySec=1h\nLog=x\n"
            for name in [
                "a.watch", "backup.conf", "nightly", "b.watch.off", "c.watch~", "unit.service", "README", ".hidden",
            ] {
                try Linux.writeFile("\(folder)/\(name)", name == "README" ? "[sic] not one\n" : text)
            }
            try Linux.mkdir("\(folder)/a.watch.d", mode: 0o755)
            for name in ["more.conf", "other", "notes", "x.watch"] {
                try Linux.writeFile("\(folder)/a.watch.d/\(name)", name == "notes" ? "hello\n" : "[Timer t]\n")
            }
            let found = ConfigurationFiles.read(arguments: [folder]).diagnostics.map { diagnostic in
                "\(diagnostic.location.file.dropFirst(folder.utf8.count + 1)): \(diagnostic.message)"
            }
            #expect(
                found == [
                    "a.watch.d/more.conf: not read: the name of a drop-in ends in .watch",
                    "a.watch.d/other: not read: the name of a drop-in ends in .watch",
                    "backup.conf: not read: the name of a watch file ends in .watch",
                    "nightly: not read: the name of a watch file ends in .watch",
                ])
        }
    }
}
