import JSON
import Testing

@Suite("What JSON values cannot keep")
struct JSONFaultTests {
    private func fault(_ text: String) throws -> JSONFault? { try JSONText(Array(text.utf8)).fault }

    @Test(arguments: [
        "{}", "[]", "1", #""a""#, #"{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}"#, #"{"a":"a","b":["b","b",1,1]}"#,
        #"{"a":9223372036854775807,"b":-9223372036854775808,"c":1.5e3,"d":0e999,"e":-0.0}"#,
        #"{"a":"\ud83d\ude00 \\ud800 \" \u0041"}"#, #"{"a\"":1,"a":2}"#,
    ])
    func whatCanBeKeptHasNone(text: String) throws {
        #expect(try fault(text) == nil)
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
            (#"{"s":"\ud800\n"}"#, ["s"], #"“s” has \ud800, which is half of a character"#),
            (#"{"s":"\ud800\ud801\udc00"}"#, ["s"], #"“s” has \ud800, which is half of a character"#),
            (#"{"s":"\udc00\\"}"#, ["s"], #"“s” has \udc00, which is half of a character"#),
            (#"{"s":["\uDC00"]}"#, ["s"], #"“s” has \uDC00, which is half of a character"#),
            (#"{"s\ud800":1}"#, ["s\u{FFFD}"], #"“s\#u{FFFD}” has \ud800, which is half of a character"#),
            (
                "99999999999999999999", [],
                "a value is 99999999999999999999, and whole numbers have 64 bits with their sign: write it as a string"
            ),
            (
                "[-9223372036854775809]", [],
                "a value is -9223372036854775809, and whole numbers have 64 bits with their sign: write it as a string"
            ),
        ])
    func whatCannotBeKeptIsNamed(text: String, path: [String], reason: String) throws {
        #expect(try fault(text) == JSONFault(path: path, reason: reason))
    }
}
