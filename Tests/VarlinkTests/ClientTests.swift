import JSON
import LinuxSystem
import Testing
import Varlink

@Suite("Client")
struct ClientTests {
    /// Runs `body` with a client whose service has already said `replies`, and then perhaps hung up.
    private func withClient(
        _ replies: [UInt8], hangsUp: Bool = false, _ body: (Client, Int32) throws -> Void
    ) throws {
        let pair = try Linux.socketPair()
        let service = pair.writeEnd.release()
        let client = try Client(owning: pair.readEnd)
        try Linux.writeAll(service, replies)
        if hangsUp { try Linux.shutdownWriting(service) }
        defer { FileDescriptor(owning: service).close() }
        try body(client, service)
    }

    @Test func aCallGoesOutAndItsReplyComesBack() throws {
        try withClient(message(#"{"parameters":{"n":1}}"#)) { client, service in
            let reply = try client.call("a.b.C", ["x": 2])
            #expect(try reply.parameters(as: [String: Int].self) == ["n": 1])
            #expect(
                try Linux.read(service, atMost: 1000) == message(#"{"method":"a.b.C","parameters":{"x":2}}"#))
        }
    }

    @Test func missingParametersAreEmpty() throws {
        try withClient(message("{}") + message(#"{"parameters":null}"#)) { client, _ in
            for _ in 1...2 {
                let parameters = try client.call("a.b.C").parameters(as: NoParameters.self)
                #expect(parameters == NoParameters())
            }
        }
    }

    @Test func anErrorKeepsItsParameters() throws {
        try withClient(message(#"{"error":"a.b.Bad","parameters":{"why":"so"}}"#)) { client, _ in
            #expect(throws: ClientError.remote(ErrorReply("a.b.Bad", ["why": .string("so")]))) {
                try client.call("a.b.C")
            }
        }
    }

    @Test func aStreamGivesItsRepliesInOrder() throws {
        let replies = #"{"continues":true,"parameters":{"n":1}}"# + "\0" + #"{"parameters":{"n":2}}"#
        try withClient(message(replies)) { client, _ in
            try client.start("a.b.C")
            let first = try client.nextReply()
            #expect(first.continues)
            let last = try client.nextReply()
            #expect(!last.continues)
            #expect(try last.parameters(as: [String: Int].self) == ["n": 2])
        }
    }

    @Test func aServiceThatHangsUpIsReported() throws {
        for part in ["", #"{"parameters":"#] {
            try withClient(Array(part.utf8), hangsUp: true) { client, _ in
                #expect(throws: ClientError.disconnected) { try client.call("a.b.C") }
            }
        }
    }

    @Test func aServiceThatSaysNothingTimesOut() throws {
        try withClient([]) { client, _ in
            #expect(throws: ClientError.timedOut(milliseconds: 20)) { try client.call("a.b.C", timeout: 20) }
        }
    }

    @Test func aCallThatIsNotReadTimesOut() throws {
        try withClient([]) { client, _ in
            let large = String(repeating: "x", count: 8 << 20)
            #expect(throws: ClientError.timedOut(milliseconds: 20)) {
                try client.call("a.b.C", ["x": large], timeout: 20)
            }
        }
    }

    @Test(arguments: ["nonsense", "[]", #"{"continues":1}"#, #"{"continues":true}"#])
    func whatIsNoReplyIsReported(text: String) throws {
        try withClient(message(text)) { client, _ in
            let error = #expect(throws: ClientError.self) { _ = try client.call("a.b.C") }
            guard case .unexpectedReply = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test func parametersOfAnotherTypeAreReported() throws {
        try withClient(message(#"{"parameters":{"n":"x"}}"#)) { client, _ in
            let reply = try client.call("a.b.C")
            #expect(throws: ClientError.unexpectedReply("“parameters.n” is missing or of the wrong type")) {
                try reply.parameters(as: [String: Int].self)
            }
        }
    }

    @Test func aSocketThatIsNotThereIsReported() {
        #expect(throws: ClientError.cannotConnect(path: "/nonexistent/socket", errno: .noSuchFile)) {
            try Client(connectingTo: "/nonexistent/socket")
        }
        let long = "/" + String(repeating: "x", count: 200)
        #expect(throws: ClientError.cannotConnect(path: long, errno: .nameTooLong)) { try Client(connectingTo: long) }
    }
}
