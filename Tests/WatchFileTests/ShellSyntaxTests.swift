import FoundationEssentials
import SeedKit
import Testing

@testable import WatchFile

@Suite("Shell syntax where no shell reads") struct ShellSyntaxTests {
    private func warnings(_ command: String) -> [String] {
        problems(in: "[Path p]\nPath=/p\nKey=%p\nExec=\(command)\n")
    }

    @Test(arguments: [
        "/bin/sh -c 'echo \"$HOME\" >/tmp/x; ls * | wc -l && true'", "/usr/bin/env bash -c \"date | tee $HOME/x\"",
        "/bin/sh -c 'echo \"$WATCHD_PATH\" >>/srv/x' sh %p", "/usr/bin/docker exec web sh -c 'ls > /tmp/x'",
        "/usr/bin/find /srv -name *.tmp -delete", "/usr/bin/find /srv -path /srv/*/x",
        "/usr/bin/awk '$1 > 2' /etc/passwd", "/usr/bin/awk '{ print $NF }' %p", "/bin/sed -n s/$HOME//p %p",
        "/bin/echo '$HOME' 'a > b' \">\" \"|\"", "/usr/bin/curl http://x/?a=1&b=2 -o /tmp/z",
        "/usr/bin/ssh host rm /tmp/* > x", "/usr/bin/dpkg --compare-versions 1 '>>' 2",
        "/usr/bin/rsync -a --exclude /srv/*/x /srv /mnt", "/bin/grep a*b$ %p", "/usr/bin/systemd-run /bin/echo $HOME",
        "/bin/mail -s done root@example.org <root@example.org>", "/usr/bin/test %p -nt /srv/stamp",
        "/bin/echo %{count} $1 $x 5$ a$b", "/usr/bin/sqlite3 /x \"select 1;\"", "/usr/bin/jq .a[] %p",
        "/usr/bin/logger -t x key=value a=b", "/bin/echo a;b &", "/usr/bin/env LANG=C /bin/date",
        "/usr/bin/convert /srv/*.jpg /srv/all.gif", "/usr/bin/perl -e 'print $ENV{HOME}'",
    ])
    func whatIsRightIsNotBlamed(command: String) {
        // A lone & at the end is one that is.
        let isBackground = command.hasSuffix(" &")
        #expect(warnings(command).count == (isBackground ? 1 : 0), "\(warnings(command))")
    }

    /// Whatever shells understand of it, the line that is proposed needs no other.
    @Test func whatIsProposedForAnyLineIsRight() {
        let beginnings = ["", "cd /srv/app && ", "LANG=C ", "A='b c' ", "A=%% ", "if ", "export X=1; ", "umask 077; "]
        let parts = [
            "/bin/echo", "echo", "'x y'", "\"q r\"", "$HOME", "`date`", "$(date +%%F)", "%%", ";", "{}", "*.o", "~/x",
            ">", "/tmp/o", "2>&1", "|", "&&", "&", "# c", "\\'", "\\\\", "\\x41", "LANG=C", "cd", "./x", "../y", "x/y",
            "/bin/", "export", "!", "'$HOME'", "\"$HOME/x y\"", "cat", "rm", "tar", "%p", "%f", "%@", ">%p", "'%f'",
        ]
        for seed in Seeds.range(500, long: 50_000) {
            var random = SplitMix(state: seed)
            let words = (1...Int.random(in: 1...6, using: &random)).compactMap { _ in
                parts.randomElement(using: &random)
            }
            let command = (beginnings.randomElement(using: &random) ?? "") + words.joined(separator: " ")
            for warning in warnings(command) {
                guard let start = warning.firstRange(of: "; write ")?.upperBound, !warning.contains("…") else {
                    continue
                }
                let line = warning[start...].replacing(" and Exec=", with: "\nExec=")
                let found = problems(in: "[Path p]\nPath=/p\nKey=%p\n\(line)\n")
                #expect(found.isEmpty, "seed \(seed): \(command) → \(line): \(found)")
            }
        }
    }

    /// Each line that a warning of `Diagnostics/shell.watch` tells to write is taken without a word.
    @Test func theLineToWriteIsRight() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Diagnostics/shell.watch")
        let lines = load(bytes: Array(try Data(contentsOf: file))).diagnostics.compactMap { diagnostic in
            diagnostic.message.firstRange(of: "; write ").map { String(diagnostic.message[$0.upperBound...]) }
        }
        #expect(lines.count > 10)
        for line in lines {
            let keys = line.replacing(" and Exec=", with: "\nExec=")
            let section = keys.hasPrefix("Command=") ? "[Descriptor d]\nLog=x\n" : "[Path p]\nPath=/p\nKey=none\n"
            let text = section.replacing("Key=none", with: line.contains("%@") ? "Key=" : "Key=%p") + keys + "\n"
            #expect(problems(in: text) == [], "\(text)")
        }
    }

    @Test func otherProgramsNamesAreTranslated() {
        #expect(ForeignNames.names.count > 100)
        // A translation that no section has is none.
        for name in ForeignNames.names {
            for kind in SectionKind.allCases {
                guard let key = ForeignNames.key(name, in: kind)?.key else { continue }
                #expect(SectionKind.allCases.contains { KeyTable.key(key, in: $0) != nil }, "\(name) → \(key)")
            }
        }
        #expect(
            problems(in: "[Timer t]\nOnCalendar=daily\nPersistent=yes\nExecStart=/bin/true\n") == [
                "3:1: unknown key Persistent= in [Timer]; here that is CatchUp=one with CatchUpMaxSec=infinity",
                "4:1: unknown key ExecStart= in [Timer]; here that is Exec=",
            ])
    }
}
