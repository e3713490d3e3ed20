import SeedKit
import Testing

@testable import WatchFile

/// Whoever writes what a diagnostic proposes is not told of a mistake again.
@Suite("Proposals") struct ProposalTests {
    /// The lines of `write [Timer NAME], and below it A, B and C`.
    private func proposal(_ line: String, _ context: LoadContext = LoadContext(processors: 4)) -> String? {
        let told = WatchFile.load([WatchFileText(file: "t", bytes: Array((line + "\n").utf8))], context: context)
        guard told.diagnostics.count == 1, let message = told.diagnostics.first?.message,
            let start = message.firstRange(of: ": write ")?.upperBound,
            let middle = message.firstRange(of: "], and below it ")
        else { return nil }
        let header = message[start..<middle.lowerBound] + "]"
        let keys = message[middle.upperBound...]
        guard let exec = keys.firstRange(of: " and Exec=") else { return nil }
        let others = keys[..<exec.lowerBound].replacing(", ", with: "\n")
        return "\(header)\n\(others)\nExec=\(keys[exec.upperBound...])\n"
    }

    @Test(arguments: [
        (
            "0 3 * * * /usr/bin/tar -czf /b/$(date +\\%F).tgz /etc",
            "/bin/sh -c '/usr/bin/tar -czf /b/$(date +%%F).tgz /etc'"
        ),
        ("0 3 * * * mail -s x root < /etc/motd", "/bin/sh -c 'mail -s x root < /etc/motd'"),
        ("0 3 * * * root mail -s x root < /etc/motd", "/bin/sh -c 'mail -s x root < /etc/motd'"),
        ("* * * * * cd /srv && ./refresh.sh", "/bin/sh -c 'cd /srv && ./refresh.sh'"),
        ("* * * * * bin/refresh", "/bin/sh -c 'bin/refresh'"),
        ("* * * * * LANG=C /bin/date", "/bin/sh -c 'LANG=C /bin/date'"),
        ("* * * * * echo 'a > b'", "echo 'a > b'"),
        ("* * * * * echo 'it is' > /x", "/bin/sh -c 'echo \\'it is\\' > /x'"),
        ("* * * * * echo \"a $HOME b\"", "/bin/sh -c 'echo \"a $HOME b\"'"),
        ("* * * * * find /x -name \\*.o -exec rm {} \\;", "/bin/sh -c 'find /x -name \\\\*.o -exec rm {} \\\\;'"),
        ("* * * * * echo it's", "/bin/sh -c 'echo it\\'s'"), ("* * * * * echo a\\b", "/bin/sh -c 'echo a\\\\b'"),
        ("@reboot /usr/bin/x", "/usr/bin/x"), ("@weekly git -C /srv pull", "git -C /srv pull"),
        ("@daily \"/opt/my tool\" # nightly", "/bin/sh -c '\"/opt/my tool\" # nightly'"),
        ("5 4 * * sun \\/bin/x", "/bin/sh -c '\\\\/bin/x'"),
        ("* * * * * test -x /a || (b; c)", "/bin/sh -c 'test -x /a || (b; c)'"),
        // The text behind a percent sign is the standard input, line by line.
        ("0 1 * * * mail me%Hi%5\\% off", "/bin/sh -c 'printf \\'%%s\\\\n\\' \\'Hi\\' \\'5%% off\\' | mail me'"),
        ("0 1 * * * cd /x && cat%", "/bin/sh -c 'printf \\'%%s\\\\n\\' \\'\\' | (cd /x && cat)'"),
    ]) func aLineOfCronIsTaken(line: String, exec: String) throws {
        let text = try #require(proposal(line), "\(line)")
        #expect(text.hasSuffix("\nExec=\(exec)\n"), "\(text)")
        #expect(problems(in: text.replacing("NAME", with: "n")) == [], "\(text)")
    }

    /// Also what the shell is given is what cron would give it.
    @Test func anyLineOfCronIsTakenAndMeansTheSame() throws {
        let parts = [
            "/bin/echo", "echo", "'x y'", "\"q r\"", "$HOME", "`date`", "$(date +\\%F)", "%d", "\\%", "\\", "\\;", "{}",
            "*.o", "?", "[a-z]", "~/x", "~", ">", "2>&1", "|", "&&", "&", ";", "# c", "#", "it's", "'", "\"", "\\'",
            "%{line}", "%p", "%@", "%%", "sh -c", "LANG=C", "cd", "./x", "/bin/", "!", "-x", "@", "+x", ":", "(", "é",
            "\t", "<", "\\\\", "\\x41", "root", "mail",
        ]
        for seed in Seeds.range(500, long: 50_000) {
            var random = SplitMix(state: seed)
            let words = (1...Int.random(in: 1...7, using: &random)).map { _ in
                (parts.randomElement(using: &random) ?? "") + (Bool.random(using: &random) ? " " : "")
            }
            let command = "echo " + words.joined() + "."
            let text = try #require(proposal("@daily \(command)"), "seed \(seed): \(command)")
            let result = load(text.replacing("NAME", with: "n"))
            #expect(result.diagnostics.isEmpty, "seed \(seed): \(text)")
            guard case .exec(let commands) = result.configuration?.handlers.first?.action else {
                Issue.record("seed \(seed): \(text)")
                continue
            }
            guard let last = commands.first?.words.last, commands.first?.words.count == 3,
                text.contains("=/bin/sh -c '")
            else { continue }
            #expect(last == .template(Template(literal: script(command))), "seed \(seed): \(text)")
        }
    }

    /// The script that a shell is given for a command of cron.
    private func script(_ command: String) -> String {
        var parts = [""]
        var last: Character = " "
        for character in command {
            if character == "%", last == "\\" {
                parts[parts.count - 1].removeLast()
                parts[parts.count - 1].append("%")
            } else if character == "%" {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
            last = character
        }
        guard parts.count > 1 else { return parts[0] }
        let input = parts.dropFirst().map { "'\($0.replacing("'", with: "'\\''"))'" }.joined(separator: " ")
        let needsGroup = parts[0].contains { "&;|".contains($0) }
        return "printf '%s\\n' \(input) | \(needsGroup ? "(\(parts[0]))" : parts[0])"
    }

    @Test func eachLineOfATableIsToldWhateverStandsBeforeIt() {
        let lines = ["MAILTO=root", "Queue=x", "Width=3", "SHELL=/bin/sh", "@daily /a", "0 3 * * * root /b", "word"]
        let found = problems(in: lines.joined(separator: "\n"))
        // Of keys without a section the first is enough.
        #expect(found.map { $0.prefix { $0 != ":" } } == ["1", "2", "4", "5", "6", "7"], "\(found)")
        let incron = "/srv/a IN_CREATE /bin/a --x=$#\n/srv/b x --y=1\n/srv/c x --y=1\n/srv/d IN_DELETE /bin/c\n"
        #expect(problems(in: incron).map { $0.prefix { $0 != ":" } } == ["1", "2", "3", "4"])
    }

    @Test func aLongCommandIsProposedAsAWhole() throws {
        let long = "/usr/bin/rsync -a " + (1...40).map { "/srv/folder-\($0)" }.joined(separator: " ")
        let text = try #require(proposal("0 3 * * * \(long)"))
        #expect(text.hasSuffix("\nExec=\(long)\n"))
    }

    @Test(arguments: [
        ("/srv/in IN_CLOSE_WRITE,IN_MOVED_TO /usr/bin/import --path=$@/$#", "/usr/bin/import --path=%p"),
        ("/srv/in IN_DELETE,IN_NO_LOOP /usr/bin/gone $# $% 5%", "/usr/bin/gone %f %{event} 5%%"),
    ]) func aLineOfIncronIsTaken(line: String, exec: String) throws {
        let text = try #require(proposal(line), "\(line)")
        #expect(text.hasSuffix("\nExec=\(exec)\n") && text.hasPrefix("[Path NAME]\nPath=/srv/in\n"), "\(text)")
        #expect(problems(in: text.replacing("NAME", with: "n")) == [], "\(text)")
    }

    @Test(arguments: [
        ("IN_MOVE", "Recursive=yes\nPrune=.*\nEvents=written renamed deleted\n"),
        ("IN_ALL_EVENTS,dotdirs=true", "Recursive=yes\nEvents=changed created modified attributes\n"),
        ("IN_CREATE,IN_ONESHOT,recursive=false", "Events=created\n"),
    ]) func masksOfIncronAreTakenWhole(mask: String, keys: String) throws {
        let text = try #require(proposal("/srv/in \(mask) /bin/a $@/$#"))
        #expect(text == "[Path NAME]\nPath=/srv/in\n\(keys)Key=%p\nExec=/bin/a %p\n", "\(text)")
        #expect(problems(in: text.replacing("NAME", with: "n")) == [], "\(text)")
    }

    @Test func whatWatchdIsNotToldOfIsNamed() {
        let some = problems(in: "/srv/in IN_OPEN,IN_CLOSE_WRITE /bin/a $@/$#\n")
        #expect(some.count == 1 && some[0].contains("Events=written (nothing tells of IN_OPEN), Key=%p"), "\(some)")
        let none = problems(in: "/srv/in IN_OPEN,IN_ACCESS /bin/a\n")
        #expect(none.count == 1 && none[0].contains("not of IN_OPEN, IN_ACCESS"), "\(none)")
    }

    /// A name is that of a user only where it is no program, or where the whole table has users.
    @Test func theSixthFieldIsAUserWhereItCannotBeTheCommand() {
        var context = LoadContext(processors: 4)
        context.isUser = { ["deploy", "git", "root"].contains($0) }
        context.programFlaw = { String(decoding: $0, as: UTF8.self) == "git" ? nil : "is missing" }
        func exec(_ lines: String...) -> [String] {
            let text = lines.joined(separator: "\n") + "\n"
            let told = WatchFile.load([WatchFileText(file: "t", bytes: Array(text.utf8))], context: context)
            return told.diagnostics.map { diagnostic in
                let message = diagnostic.message.replacing(", WorkingDirectory=~", with: "")
                return message.firstRange(of: "* * * * *").map { String(message[$0.upperBound...]) } ?? message
            }
        }
        #expect(exec("* * * * * deploy /srv/run") == [", User=deploy and Exec=/srv/run"])
        #expect(exec("* * * * * backup /srv") == [", User=backup and Exec=/srv"])
        #expect(exec("* * * * * git pull") == [" and Exec=git pull"])
        #expect(exec("* * * * * git /srv/a", "* * * * * git b") == [" and Exec=git /srv/a", " and Exec=git b"])
        #expect(
            exec("* * * * * git /srv/a", "* * * * * root /srv/b") == [
                ", User=git and Exec=/srv/a", ", User=root and Exec=/srv/b",
            ])
        #expect(exec("* * * * * deploy -x") == [" and Exec=deploy -x"])
    }

    @Test(arguments: [
        ("TimeoutStop", "TimeoutStopSec"), ("StopTimeoutSec", "TimeoutStopSec"), ("priority", "After"),
        ("Restrat", "Restart"), ("Wants", "After"), ("ReadyLin", "ReadyLine"),
    ]) func whatIsProposedOfAProcessIsForOne(name: String, key: String) throws {
        let told = problems(in: "[Process p]\nCommand=/bin/x\n\(name)=x\n")
        #expect(told.count == 1 && told[0].contains(" \(key)="), "\(told)")
        #expect(KeyTable.namesBesideCommand.contains(key))
    }

    @Test func everyTranslationIsOfAKeyThatTheSectionTakesOrNamesItsPlace() {
        for name in ForeignNames.names {
            for kind in SectionKind.allCases {
                guard let key = ForeignNames.key(name, in: kind)?.key else { continue }
                if KeyTable.key(name, in: kind) != nil { continue }
                let section = kind == .watchd ? "[Watchd]" : "[\(kind.rawValue) x]"
                let told = problems(in: "\(section)\n\(name)=x\n").first { $0.contains("unknown key \(name)=") }
                guard KeyTable.key(key, in: kind) != nil else {
                    #expect(told?.contains(", in ") == true, "\(kind): \(told ?? name)")
                    continue
                }
                if kind == .process {
                    #expect(KeyTable.namesBesideCommand.contains(key), "\(told ?? name)")
                }
            }
        }
    }

    @Test func aProcessThatIsTakenForAHandlerIsNamed() {
        let process = "[Process db]\nCommand=/bin/db\n"
        func told(_ key: String) -> [String] { problems(in: process + "[Custom c]\nExec=/bin/x\n\(key)\n") }
        #expect(told("After=db") == ["5:7: there is no handler db; did you mean process/db?"])
        #expect(told("Requires=db") == ["5:10: there is no handler db, but a [Process db]: write After=process/db"])
        #expect(
            told("Requires=process/db") == [
                "5:10: Requires= starts handlers, and process/db is none: write After=process/db"
            ])
        #expect(told("After=process/db") == [])
        #expect(
            problems(in: process + "[Process web]\nCommand=/bin/web\nAfter=db\n") == [
                "5:7: there is no handler db; did you mean process/db?"
            ])
    }

    @Test func whatStandsInPlaceOfAPatternInTailIsTaken() {
        let told = problems(in: "[Descriptor d]\nTail=/var/log/*.log\nLog=x\n")
        #expect(told.count == 1 && told[0].hasPrefix("2:15: Tail= follows one file, and * makes no pattern there: "))
        let command = "Command=/bin/sh -c 'exec tail -qn0 -F /var/log/*.log'"
        #expect(told[0].contains(command.replacing("/var/log/*.log", with: "PATTERN")))
        #expect(problems(in: "[Descriptor d]\n\(command)\nLog=x\n") == [])
        #expect(problems(in: "[Descriptor d]\nTail=/var/log/\\x2a.log\nLog=x\n") == [])
    }
}
