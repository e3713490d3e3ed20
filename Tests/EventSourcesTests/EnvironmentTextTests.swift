import ProgramKit
import Testing

@testable import EventSources

@Suite("Environment files", .ownThread) struct EnvironmentTextTests {
    private func variables(_ text: String) -> [String] {
        EnvironmentText.variables(in: Array(text.utf8)).map {
            String(decoding: $0.name, as: UTF8.self) + "=" + String(decoding: $0.value, as: UTF8.self)
        }
    }

    /// Each as systemd 252 reads it (`systemd-run -p EnvironmentFile=`).
    @Test(arguments: [
        ("A=1\nB=2\n", ["A=1", "B=2"]), ("A=1", ["A=1"]), ("A=", ["A="]), ("  A = 1 2  \n", ["A=1 2"]),
        ("A=1\r\nB=2\r\n", ["A=1", "B=2"]), ("# A=1\n; B=2\nC=3 # no comment\n", ["C=3 # no comment"]),
        ("A='1 2'\nB=\"1 2\"\n", ["A=1 2", "B=1 2"]), ("A=' 1 ' \n", ["A= 1 "]),
        ("A='a'\"b\"c\n", ["A=abc"]), ("A=a'b'\n", ["A=a'b'"]), ("A=a\\\nb\n", ["A=ab"]),
        ("A=a\\ b\\nc\n", ["A=a bnc"]), ("A=\"a\\\"b\\\\c\\$d\\`e\\nf\"\n", ["A=a\"b\\c$d`e\\nf"]),
        ("A=\"a\\\nb\"\n", ["A=ab"]), ("A='a\\'\n", ["A=a\\"]), ("A='a\nb'\nC=1\n", ["A=a\nb", "C=1"]),
        ("A=\"open\n", ["A=open\n"]), ("A\nB=1\n", ["B=1"]), ("export A=1\n", ["export A=1"]),
        ("# comment\\\nA=1\n", ["A=1"]), ("A=$B ${C}\n", ["A=$B ${C}"]), ("=1\n", []), ("\n\n", []),
    ])
    func areReadAsSystemdReadsThem(text: String, expected: [String]) {
        #expect(variables(text) == expected, "\(text)")
    }
}
