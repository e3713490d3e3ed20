import ControlInterface
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// What an administrator types who knows other programs.
@Suite("watchctl on a first afternoon") struct FirstAfternoonTests {
    private static let text = """
        [Custom a]
        Exec=/bin/false
        [Custom b]
        Exec=/bin/sh -c 'exit 3'
        [Custom long]
        Exec=/bin/sh -c 'yes | head -c 100000'

        """

    @Test func namesTimesAndErrorsAreTakenAsTheyAreTyped() throws {
        try Watchd.run(Self.text) { watchd in
            #expect(try watchd.control("suspend", "a", "b").text == "custom/a is suspended\ncustom/b is suspended\n")
            let resumed = try watchd.control("resume", "a", "nothing", "b")
            #expect(resumed.text == "custom/a goes on\ncustom/b goes on\n")
            #expect(resumed.code == 1)
            #expect(resumed.errorText.contains("there is no source or queue “nothing”"))

            for name in ["a", "a", "b"] { #expect(try watchd.control("run", "--wait", name).code == 1) }
            let forgotten = try watchd.control("forget", "--all").text
            #expect(forgotten == "2 failures of handler/a forgotten\n1 failure of handler/b forgotten\n")
            #expect(try watchd.control("forget", "--all").code == 1)

            let refused = try watchd.control("--json", "show", "999")
            #expect(refused.code == 1)
            let error = try JSON.decode(JSONValue.self, from: refused.errors).members
            #expect(error?["error"]?.string == "there is no operation 999, or it is forgotten")

            let before = try watchd.control("follow", "--since", "1h", "--timeout", "1s")
            #expect(before.text.contains("1 a  "), "\(before)")
            #expect(before.errorText.contains("watchd runs since"), "\(before)")
            let after = try watchd.control("follow", "--since", "now", "--timeout", "1s")
            #expect(after.text.isEmpty, "\(after)")
        }
    }

    @Test func aBeginningThatIsNotKeptIsMarked() throws {
        try Watchd.run(Self.text) { watchd in
            #expect(try watchd.control("run", "--wait", "long").code == 0)
            let output = try watchd.control("output", "long")
            #expect(output.output.count == 64 << 10)
            #expect(output.errorText == "watchctl: … the last 64 KiB: watchd keeps no more of a run\n")
        }
    }
}
