import JSON
import Testing

@Suite("JSON value")
struct JSONValueTests {
    @Test(arguments: [
        "null", "true", "[]", "{}", "0", "-1", "9223372036854775807", "-9223372036854775808", "9007199254740993", "1.5",
        #""ä/\n\u0000""#, #"{"a":[1,{"b":null}],"c":false}"#,
    ])
    func whatIsReadIsWrittenTheSame(text: String) throws {
        let value = try JSON.decode(JSONValue.self, from: Array(text.utf8))
        #expect(String(decoding: try JSON.encode(value), as: UTF8.self) == text)
    }

    @Test func whatJSONCannotSayIsNull() throws {
        #expect(try JSON.encode(JSONValue.array([.double(.nan), .double(.infinity)])) == Array("[null,null]".utf8))
    }
}
