import Testing
import Varlink

@Suite("Parameters of a call")
struct CallParametersTests {
    private struct Sample: CallParameters, Equatable {
        enum CodingKeys: String, CodingKey, CaseIterable {
            case name
            case count = "how_many"
            case flags
        }

        var name: String
        var count: Int?
        var flags: [Bool]?
    }

    private struct Limited: CallParameters, Equatable {
        enum CodingKeys: CodingKey, CaseIterable { case limit }
        var limit: Int?
    }

    private func call(_ parameters: String?) throws -> Call {
        let connection = ConnectionUnderTest()
        let members = parameters.map { #","parameters":\#($0)"# } ?? ""
        connection.receive(message(#"{"method":"a.b.C"\#(members)}"#))
        return try #require(connection.next())
    }

    @Test func theyAreDecoded() throws {
        let call = try call(#"{"name":"x","how_many":9007199254740993,"flags":[true]}"#)
        #expect(try call.parameters() == Sample(name: "x", count: 9_007_199_254_740_993, flags: [true]))
    }

    @Test(arguments: [nil, "null", "{}", #"{"limit":null}"#])
    func noneNullAndEmptyAreTheSame(text: String?) throws {
        #expect(try call(text).parameters() == Limited())
        #expect(try call(text).method == "a.b.C")
    }

    @Test(
        arguments: [
            (nil, "name"), ("{}", "name"), (#"{"name":1}"#, "name"), (#"{"name":null}"#, "name"),
            (#"{"name":"x","how_many":"3"}"#, "how_many"), (#"{"name":"x","how_many":1.5}"#, "how_many"),
            (#"{"name":"x","how_many":9223372036854775808}"#, "how_many"), (#"{"name":"x","name":"y"}"#, "name"),
            (#"{"name":"x","flags":[true,1]}"#, "flags"),
            (#"{"name":"\ud800\n"}"#, "name"), (#"{"name":"x","how_many":99999999999999999999}"#, "how_many"),
            (#"{"name":"x","count":3}"#, "count"), (#"{"name":"x","Name":"y","b":1}"#, "Name"),
        ] as [(String?, String)])
    func whatIsUnknownMissingOrMistypedIsNamed(text: String?, parameter: String) throws {
        let call = try call(text)
        #expect(throws: ErrorReply.invalidParameter(parameter)) { try call.parameters(as: Sample.self) }
    }

    @Test func aLevelOutOfRangeIsInvalid() throws {
        #expect(try call(#"{"level":7}"#).parameters() == LogLevel(level: 7))
        let call = try call(#"{"level":8}"#)
        #expect(throws: ErrorReply.invalidParameter("level")) { try call.parameters(as: LogLevel.self) }
    }
}
