import ControlInterface
import JSON
import Testing
import Varlink

@Suite("Parameters of the manager")
struct ParameterTests {
    private func parameters<Parameters: CallParameters>(
        _ text: String, as type: Parameters.Type = Parameters.self
    ) throws -> Parameters {
        var connection = ServerConnection(slowSubscriberError: ManagerError.tooSlow.reply)
        connection.receive(Array(#"{"method":"a.b.C","parameters":\#(text)}"#.utf8) + [0])
        let call = connection.next()
        return try #require(call).parameters()
    }

    @Test func theExampleOfControlIsUnderstood() throws {
        let emit = try parameters(#"{"name":"poke","data":41,"payload":{"a":1}}"#, as: Emit.Parameters.self)
        #expect(emit == .init(name: "poke", data: 41, payload: .object(["a": .int(1)])))
        let all = try parameters(#"{"events":[{"name":"a"},{"name":"b","data":-1}]}"#, as: EmitAll.Parameters.self)
        #expect(all.events == [.init(name: "a"), .init(name: "b", data: -1)])
    }

    @Test func aPayloadIsAnObject() {
        for payload in ["1", "[]", "\"x\""] {
            #expect(throws: ErrorReply.invalidParameter("payload")) {
                try parameters(#"{"name":"a","payload":\#(payload)}"#, as: Emit.Parameters.self)
            }
        }
    }

    @Test(arguments: [
        #"[{"name":"a","paylod":{}}]"#, #"[{}]"#, "[1]", "{}", #"[{"name":"a","data":1.5}]"#, #"[{"name":"a"},null]"#,
    ])
    func aBadElementMakesTheWholeListInvalid(events: String) {
        #expect(throws: ErrorReply.invalidParameter("events")) {
            try parameters(#"{"events":\#(events)}"#, as: EmitAll.Parameters.self)
        }
    }

    @Test func anUnknownStateIsInvalid() {
        #expect(throws: ErrorReply.invalidParameter("state")) {
            try parameters(#"{"state":"done"}"#, as: ListOperations.Parameters.self)
        }
    }

    @Test func waitAndExplainTakeExactlyOneTarget() throws {
        #expect(try parameters(#"{"id":3,"timeout_usec":0}"#) == Wait.Parameters(id: 3, timeoutUsec: 0))
        #expect(try parameters(#"{"name":"q"}"#) == Explain.Parameters(name: "q"))
        for text in ["{}", #"{"id":3,"name":"q"}"#] {
            #expect(throws: ErrorReply.self) { try parameters(text, as: Wait.Parameters.self) }
            #expect(throws: ErrorReply.self) { try parameters(text, as: Explain.Parameters.self) }
        }
        #expect(throws: ErrorReply.invalidParameter("timeout_usec")) {
            try parameters(#"{"id":3,"timeout_usec":-1}"#, as: Wait.Parameters.self)
        }
    }

    @Test func retryAndForgetTakeExactlyOneTarget() throws {
        #expect(try parameters(#"{"id":3}"#) == FailedTarget(id: 3))
        #expect(try parameters(#"{"name":"backup"}"#) == FailedTarget(name: "backup"))
        for text in ["{}", #"{"id":3,"name":"q"}"#, #"{"id":"3"}"#] {
            #expect(throws: ErrorReply.self) { try parameters(text, as: FailedTarget.self) }
        }
    }

    @Test func aNameOfTheHistoryIsAHandlerOrASource() throws {
        #expect(
            try parameters(#"{"name":"backup","unsettled":true}"#)
                == ListHistory.Parameters(name: "backup", unsettled: true))
        for text in [#"{"name":"a","handler":"b"}"#, #"{"name":"a","source":"path/b"}"#] {
            #expect(throws: ErrorReply.invalidParameter("name")) {
                try parameters(text, as: ListHistory.Parameters.self)
            }
        }
        #expect(throws: ErrorReply.invalidParameter("result")) {
            try parameters(#"{"result":"ok"}"#, as: ListHistory.Parameters.self)
        }
    }

    @Test func cancelTakesExactlyOneTarget() throws {
        #expect(try parameters(#"{"id":3}"#) == Cancel.Parameters(id: 3))
        #expect(try parameters(#"{"queue":"q"}"#) == Cancel.Parameters(queue: "q"))
        #expect(throws: ErrorReply.invalidParameter("id")) { try parameters("{}", as: Cancel.Parameters.self) }
        #expect(throws: ErrorReply.invalidParameter("queue")) {
            try parameters(#"{"id":3,"queue":"q"}"#, as: Cancel.Parameters.self)
        }
    }
}
