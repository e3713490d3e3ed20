import Testing
import Varlink

@Suite("What JSON values cannot keep")
struct JSONFaultTests {
    @Test(arguments: [
        "{}", "[]", "1", #""a""#, #"{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}"#, #"{"a":"a","b":["b","b",1,1]}"#,
        #"{"a":9223372036854775807,"b":-9223372036854775808,"c":1.5e3,"d":0e999,"e":-0.0}"#,
        #"{"a":"\ud83d\ude00 \\ud800 \" \u0041"}"#, #"{"a\"":1,"a":2}"#,
    ])
    func whatCanBeKeptHasNone(text: String) throws {
        #expect(JSONFault.first(in: Array(text.utf8)) == nil)
        #expect(throws: Never.self) { try JSON.decode(JSONValue.self, from: Array(text.utf8)) }
    }

    @Test(
        arguments: [
            (
                #"{"id":18446744073709551615}"#, ["id"],
                "“id” is 18446744073709551615, and whole numbers have 64 bits with their sign: write it as a string"
            ),
            (#"{"a":1,"b":[{"c":{},"a":2,"a":3}]}"#, ["b", "a"], "it has “b.a” twice"),
            (#"{"a":1,"\u0061":2}"#, ["a"], "it has “a” twice"),
            // One name for Swift, and for the handler two.
            ("{\"\u{e9}\":1,\"e\u{301}\":2}", ["e\u{301}"], "it has “e\u{301}” twice"),
            (#"{"y":1e400}"#, ["y"], "“y” is 1e400, which no number of 64 bits comes near: write it as a string"),
            (#"{"y":-1e-400}"#, ["y"], "“y” is -1e-400, which no number of 64 bits comes near: write it as a string"),
            (#"{"s":"x\ud800"}"#, ["s"], #"“s” has \ud800, which is half of a character"#),
            (#"{"s":"\ud800A"}"#, ["s"], #"“s” has \ud800, which is half of a character"#),
            (#"{"s":["\uDC00"]}"#, ["s"], #"“s” has \uDC00, which is half of a character"#),
            (
                "99999999999999999999", [],
                "a value is 99999999999999999999, and whole numbers have 64 bits with their sign: write it as a string"
            ),
        ])
    func whatCannotBeKeptIsNamed(text: String, path: [String], reason: String) {
        #expect(JSONFault.first(in: Array(text.utf8)) == JSONFault(path: path, reason: reason))
    }

    @Test func textThatIsNoJSONHarmsNobody() {
        for text in [
            "", "{", "}", "]]", "\"", "\"\\", "\"\\u", "\"\\ud800", "{\"a", "{\"a\":-", ",", "[1,\"\\u12", "{\"\":",
        ] {
            _ = JSONFault.first(in: Array(text.utf8))
            _ = JSONFault.first(in: Array(text.utf8) + [0xFF])
        }
    }
}
