import ControlInterface
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// What an administrator types who knows other programs.
@Suite("watchctl on a first afternoon", .ownThread) struct FirstAfternoonTests {
    private static let text = """
        [Custom a]
        Exec=/bin/false
        [Custom b]
        Exec=/bin/sh -c 'exit 3'

        """

    @Test func namesTimesAndErrorsAreTakenAsTheyAreTyped() throws {
        try Watchd.run(Self.text) { watchd in
            #expect(try watchd.control("suspend", "a", "b").text == "custom/a is suspended\ncustom/b is suspended\n")
            let resumed = try watchd.control("resume", "a", "nothing", "b")
            #expect(resumed.text.isEmpty && resumed.code == 1, "one name is wrong, so nothing is done")
            #expect(resumed.errorText.contains("there is no source or queue “nothing”"))
            #expect(resumed.errorText.contains("nothing was done with “a”, “b”"))
            #expect(try watchd.control("resume", "a", "b").text == "custom/a goes on\ncustom/b goes on\n")

            for (name, code) in [("a", 1), ("a", 1), ("b", 3)] as [(String, Int32)] {
                let end = try watchd.control("run", "--wait", name)
                #expect(end.code == code, "\(end)")
            }
            let forgotten = try watchd.control("forget", "--all").text
            #expect(forgotten == "2 failures of handler/a forgotten\n1 failure of handler/b forgotten\n")
            #expect(try watchd.control("forget", "--all").code == 1)

            let refused = try watchd.control("--json", "show", "999")
            #expect(refused.code == 1)
            let error = try JSON.decode(JSONValue.self, from: refused.errors).members
            #expect(error?["error"]?.string == "there is no operation 999, or it is forgotten")

            let before = try watchd.control("follow", "--since", "1h", "--timeout", "10s")
            #expect(before.text.contains("1 a  "), "\(before)")
            #expect(before.errorText.contains("watchd runs since"), "\(before)")
            let after = try watchd.control("follow", "--since", "now", "--timeout", "1s")
            #expect(after.text.isEmpty, "\(after)")
        }
    }

    /// A handler that is written in its source has no section of its own.
    @Test func statusCountsTheSectionsThatAreWritten() throws {
        let text = """
            [Custom poke]
            Log=%{data}
            [Custom other]
            Handler=other
            [Handler other]
            Log=%{data}

            """
        // With that of the daemon.
        try Watchd.run(text) { watchd in
            let sections = try watchd.status().sections
            #expect(sections == 4)
        }
    }

    /// Else nobody could tell a run by hand from one of the timer.
    @Test func aRunByHandSaysSo() throws {
        let text = "[Timer daily]\nOnCalendar=daily\nExec=/bin/true\n[Custom poke]\nExec=/bin/true\n"
        try Watchd.run(text) { watchd in
            for name in ["daily", "poke"] {
                let end = try watchd.control("run", "--wait", name)
                #expect(end.code == 0, "\(end)")
            }
            try watchd.waitUntilIdle()
            #expect(try watchd.ended().map(\.cause) == ["timer/daily, run by hand", "custom/poke, run by hand"])
        }
    }

    @Test func statusOfANameShowsAllThatHasIt() throws {
        let text = """
            [Queue images]
            [Handler slow]
            Exec=/bin/sh -c 'echo begun; exec sleep 1000'
            Queue=images
            Acquire=disk
            [Semaphore disk]
            Value=1
            [Custom images]
            Handler=slow

            """
        try Watchd.run(text, settings: "DrainSec=0\n") { watchd in
            try watchd.emit("images")
            try wait(for: "its line") { try watchd.control("output", "slow").text == "begun\n" }
            let pid = try #require(try watchd.operation(1).summary.pid)
            let both = try watchd.control("status", "images").text
            #expect(both.contains("custom/images ") && both.contains("\n\nqueue/images "), "\(both)")
            #expect(both.contains("slow for ") && both.contains("(pid \(pid))"), "\(both)")
            let place = "defined  \(watchd.folder["watch"]):"
            for (name, words) in [
                ("slow", "output   begun\n"), ("semaphore/disk", "process \(pid)"), ("queue/images", ""),
            ] {
                let sheet = try watchd.control("status", name).text
                #expect(sheet.contains(words) && sheet.contains(place), "\(sheet)")
            }
            let none = try watchd.control("status", "imagse", "queue/none")
            #expect(none.code == 1 && none.errorText.contains("nothing has the name “imagse”"), "\(none)")
        }
    }

    @Test func warningsAreLoggedAtTheStartAndAtAReload() throws {
        let text = "[Custom a]\nExec=@/missing %{data}\n[Handler alone]\nLog=x\n"
        try Watchd.run(text) { watchd in
            try watchd.waitForLog("warning: nothing starts [Handler alone]")
            try watchd.waitForLog("\(watchd.folder["missing"]) is missing")
            let file = watchd.folder["watch"]
            let check = try Program.run([try Products.path("watchctl"), "check", file])
            #expect(check.code == 0, "\(check)")
            #expect(check.text.contains("is missing") && check.text.contains("nothing starts"), "\(check)")

            let more = text + "[Custom b]\nExec=@/gone\n[Custom c]\nExec=/bin/echo a > b\n"
            try Watchd.write(more, to: watchd.folder)
            let reload = try watchd.control("reload")
            #expect(reload.code == 0, "\(reload)")
            try watchd.waitForLog("\(watchd.folder["gone"]) is missing")
            #expect(watchd.logText.contains("no shell reads this line, so > stays as it is"))
        }
    }

    @Test func catShowsWhichLineDecides() throws {
        try Watchd.run("[Custom]\nQueue=utility\n[Custom a]\nExec=/bin/echo hello\n") { watchd in
            let file = watchd.folder["watch"]
            let cat = try watchd.control("cat", "a")
            #expect(cat.code == 0, "\(cat)")
            let lines = cat.text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
            let top = try #require(lines.first?.split(separator: ":").last.flatMap { Int($0) })
            #expect(
                lines == [
                    "[Custom a] \(file):\(top)", "Queue=utility \(file):\(top - 1)",
                    "Exec=/bin/echo hello \(file):\(top + 1)",
                ])
            #expect(try watchd.control("cat", "--all", "handler/a").text.contains("TimeoutSec=infinity"))
            #expect(try watchd.control("cat", "--json").text.contains("\"section\":\"custom/a\""))
            #expect(try watchd.control("cat", "nothing").code == 1)
        }
    }
}
