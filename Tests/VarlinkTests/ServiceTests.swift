import JSON
import Testing
import Varlink

@Suite("Service")
struct ServiceTests {
    private let service = Service(
        .init(vendor: "v", product: "p", version: "1", url: "u"),
        interfaces: [
            .systemdService,
            Interface(name: "a.b", methods: ["Get": .reply, "Watch": .stream], description: "interface a.b\n"),
        ])

    private func route(_ text: String) throws -> Service.Route {
        let connection = ConnectionUnderTest()
        connection.receive(message(text))
        return service.route(try #require(connection.next()))
    }

    private func error(_ text: String) throws -> ErrorReply? {
        if case .error(let error) = try route(text) { error } else { nil }
    }

    private func reply(_ text: String) throws -> JSONValue? {
        if case .reply(let reply) = try route(text) { reply } else { nil }
    }

    @Test func itTellsWhatItIs() throws {
        #expect(
            try reply(#"{"method":"org.varlink.service.GetInfo"}"#)
                == .object([
                    "vendor": .string("v"), "product": .string("p"), "version": .string("1"), "url": .string("u"),
                    "interfaces": .array([
                        .string("org.varlink.service"), .string("io.systemd.service"), .string("a.b"),
                    ]),
                ]))
    }

    @Test(arguments: ["org.varlink.service", "io.systemd.service", "a.b"])
    func itDescribesEachInterface(name: String) throws {
        let call = #"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"\#(name)"}}"#
        let description = try #require(try reply(call)?.members?["description"]?.string)
        #expect(description.contains("interface \(name)\n"))
    }

    @Test func itsMethodsAreRouted() throws {
        guard case .method("a.b", "Get") = try route(#"{"method":"a.b.Get"}"#) else {
            Issue.record("not routed")
            return
        }
        guard case .method("a.b", "Watch") = try route(#"{"method":"a.b.Watch","more":true}"#) else {
            Issue.record("not routed")
            return
        }
    }

    @Test func whatDoesNotExistIsAnError() throws {
        #expect(try error(#"{"method":"x.y.Z"}"#) == .interfaceNotFound("x.y"))
        #expect(try error(#"{"method":"nodots"}"#) == .interfaceNotFound("nodots"))
        #expect(try error(#"{"method":""}"#) == .interfaceNotFound(""))
        #expect(try error(#"{"method":"a.b.Nothing"}"#) == .methodNotFound("a.b.Nothing"))
        #expect(try error(#"{"method":"a.b."}"#) == .methodNotFound("a.b."))
        #expect(try error(#"{"method":"a.b.Watch"}"#) == .expectedMore)
        #expect(try error(#"{"method":"org.varlink.service.GetInfo","parameters":{"x":1}}"#) == .invalidParameter("x"))
        #expect(
            try error(#"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"x.y"}}"#)
                == .interfaceNotFound("x.y"))
        #expect(
            try error(#"{"method":"org.varlink.service.GetInterfaceDescription"}"#) == .invalidParameter("interface"))
    }
}
