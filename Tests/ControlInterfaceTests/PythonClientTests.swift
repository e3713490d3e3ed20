import ControlInterface
import ControlKit
import FoundationEssentials
import JSON
import ProgramKit
import Testing
import Varlink

/// Python's `varlink` package, which shares no code with this one, reads the descriptions and calls every method.
@Suite("Python's varlink", .ownThread)
struct PythonClientTests {
    private static let script = """
        import json, sys, varlink
        address, samples = "unix:" + sys.argv[1], json.load(open(sys.argv[2]))
        client = varlink.Client.new_with_address(address)
        interfaces = client.get_interfaces()
        result = {"interfaces": {}, "replies": [], "errors": []}
        for name in interfaces:
            interface = client.get_interface(name)
            result["interfaces"][name] = sorted(
                n for n, m in interface.members.items() if type(m).__name__ == "_Method")
        with client.open("io.watchd.Manager") as manager:
            for sample in samples:
                method = getattr(manager, sample["method"])
                if sample["stream"]:
                    result["replies"].append(list(method(_more=True, **sample["parameters"])))
                else:
                    result["replies"].append(method(**sample["parameters"]))
        for name, parameters in (("Follow", {}), ("Emit", {"name": "nothing"})):
            with client.open("io.watchd.Manager") as manager:
                try:
                    getattr(manager, name)(**parameters)
                except varlink.VarlinkError as error:
                    result["errors"].append(error.as_dict())
        print(json.dumps(result))
        """

    private struct Result: Decodable {
        var interfaces: [String: [String]]
        var replies: [JSONValue]
        var errors: [JSONValue]
    }

    @Test(.timeLimit(.minutes(5)))
    func itReadsTheDescriptionsAndCallsEveryMethod() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("watchd-test-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        guard let python = PythonVarlink.interpreter else {
            print("SKIPPED: Python's varlink cannot be installed (no python3-venv, or PyPI cannot be reached)")
            return
        }
        // Calls that are told apart by their parameters.
        let samples =
            Samples.full
            + Samples.minimal.filter { minimal in
                !Samples.full.contains {
                    $0.method.name == minimal.method.name && $0.parameters == minimal.parameters
                }
            }
        let server = try SampleServer(interfaces: [.systemdService, Manager.interface]) { call in
            guard call.name != Follow.name else { return .stream(Samples.followed.dropFirst().map(Sample.json)) }
            let answers = samples.filter { $0.method.name == call.name }.map { $0.answer(call) }
            let reply = answers.first { if case .reply = $0 { true } else { false } }
            return reply ?? .error(ManagerError.noSuchName(name: "nothing", nearest: "something").reply)
        }
        defer { server.stop() }
        let calls: [JSONValue] = samples.map { sample in
            .object([
                "method": .string(sample.method.name), "parameters": sample.parameters,
                "stream": .bool(sample.method.style == .stream),
            ])
        }
        let file = folder.appendingPathComponent("samples.json")
        try Data(JSON.encode(calls)).write(to: file)
        let finished = try Program.run([python, "-c", Self.script, server.path, file.path])
        try #require(finished.code == 0, "\(finished)")
        let result = try JSON.decode(Result.self, from: finished.output)

        #expect(Set(result.interfaces.keys) == ["org.varlink.service", "io.systemd.service", "io.watchd.Manager"])
        #expect(result.interfaces["io.watchd.Manager"] == Manager.methods.map { $0.name }.sorted())
        #expect(result.interfaces["org.varlink.service"] == ["GetInfo", "GetInterfaceDescription"])
        for (sample, reply) in zip(samples, result.replies) {
            let expected =
                sample.method.name == Follow.name
                ? JSONValue.array(Samples.followed.dropFirst().map(Sample.json))
                : sample.method.style == .stream ? .array([sample.reply]) : sample.reply
            #expect(reply == expected, "\(sample.method.name)")
        }
        #expect(result.replies.count == samples.count)
        #expect(
            result.errors == [
                .object(["error": .string("org.varlink.service.ExpectedMore"), "parameters": .object([:])]),
                .object([
                    "error": .string("io.watchd.Manager.NoSuchName"),
                    "parameters": .object(["name": .string("nothing"), "nearest": .string("something")]),
                ]),
            ])
    }
}
