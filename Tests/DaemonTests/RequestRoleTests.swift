import ControlInterface
import ControlKit
import JSON
import ProgramKit
import Testing
import Varlink

@testable import Daemon

/// The rights of those who ask, over every method that there is.
@Suite("Roles", .ownThread) struct RequestRoleTests {
    /// A word of the watch file that only an administrator may see.
    private static let secret = "sesame"
    private static let watch = """
        [Custom poke]
        Handler=h

        [Path uploads]
        Path=/\(secret)/\(secret)
        Handler=h

        [Timer t]
        OnStartupSec=1h
        Handler=h

        [Path polled]
        Path=/proc/sys/\(secret)
        Poll=yes
        Handler=h

        [Custom held]
        Exec=/bin/true
        HoldUntil=path:/\(secret)/there

        [Semaphore gpu]
        Value=1

        [Handler h]
        Exec=/bin/false \(secret)
        Environment=PASSWORD=\(secret)
        Acquire=gpu

        """

    /// The methods that a reader may call. A new method is for administrators until it stands here.
    private static let forReaders: Set<String> = [
        "GetStatus", "ListSources", "ListQueues", "ListSemaphores", "ListHandlers", "ListOperations", "ListNames",
        "ListHistory", "GetOperation", "GetOutput", "Explain", "Wait", "Submit", "Cancel", "Follow",
    ]

    @Test func aReaderChangesNothing() throws {
        try AskedRuntime.with(Self.watch) { asked in
            let before = try asked.call(GetStatus.self, .init()).totals
            for sample in Samples.full + Samples.minimal where !Self.forReaders.contains(sample.method.name) {
                let answer = try asked.ask(sample.method.fullName, sample.parameters, as: AskedRuntime.reader)
                #expect(answer.error == "PermissionDenied", "\(sample.method.name): \(answer)")
            }
            for method in ["Reload", "SetLogLevel"] {
                let answer = try asked.ask("io.systemd.service.\(method)", .object([:]), as: AskedRuntime.reader)
                #expect(answer.error == "PermissionDenied", "\(method): \(answer)")
            }
            #expect(try asked.call(GetStatus.self, .init()).totals == before)
        }
    }

    @Test func everyMethodHasASample() {
        let sampled = Set((Samples.full + Samples.minimal).map { $0.method.name })
        let missing = Manager.methods.map { $0.name }.filter { !sampled.contains($0) }
        #expect(missing.isEmpty)
    }

    /// Neither a path of a source nor a command, nor the data of an event, in no reply.
    @Test func aReaderIsToldNoSecret() throws {
        try AskedRuntime.with(Self.watch) { asked in
            let payload = JSONValue.object(["word": .string(Self.secret)])
            let emit: [String: JSONValue] = ["name": .string("poke"), "payload": payload, "wait": .bool(true)]
            #expect(try asked.ask(Emit.fullName, .object(emit)).error == nil)
            #expect(try asked.ask(Run.fullName, .object(["name": .string("held")])).error == nil)
            let waiting = try asked.call(ListOperations.self, .init()).operations.first { $0.waitReason == "condition" }
            let held = try #require(waiting?.id, "it waits")
            let run = try asked.call(ListHistory.self, .init()).operations.first
            let id = try #require(run?.id, "it has run")
            let questions: [(String, [String: JSONValue])] = [
                (GetStatus.fullName, [:]), (ListSources.fullName, [:]), (ListQueues.fullName, [:]),
                (ListHandlers.fullName, [:]),
                (ListSemaphores.fullName, [:]), (ListOperations.fullName, [:]), (ListHistory.fullName, [:]),
                (ListNames.fullName, ["kind": .string("names")]), (GetOperation.fullName, ["id": .int(Int64(id))]),
                (Explain.fullName, ["id": .int(Int64(id))]), (Explain.fullName, ["name": .string("uploads")]),
                (Explain.fullName, ["name": .string("handler/h")]), (Explain.fullName, ["name": .string("poke")]),
                (GetOutput.fullName, ["id": .int(Int64(id))]), (Explain.fullName, ["id": .int(Int64(held))]),
                (GetOperation.fullName, ["id": .int(Int64(held))]), (Explain.fullName, ["name": .string("polled")]),
                (Explain.fullName, ["path": .string("/\(Self.secret)/x")]),
            ]
            var isTold = false
            for (method, parameters) in questions {
                let answer = try asked.ask(method, .object(parameters), as: AskedRuntime.reader)
                #expect(!"\(answer)".contains(Self.secret), "\(method) of \(parameters): \(answer)")
                let own = try asked.ask(method, .object(parameters))
                isTold = isTold || "\(own)".contains(Self.secret)
            }
            #expect(isTold, "an administrator is told")
        }
    }

    /// `Stop` with a name is not `StopProcess`.
    @Test func aMemberThatAMethodWithoutParametersDoesNotKnowIsRefused() throws {
        try AskedRuntime.with(Self.watch) { asked in
            let service = "io.systemd.service"
            for method in [Stop.fullName, GetStatus.fullName, "\(service).Ping", "\(service).Reload"] {
                let answer = try asked.ask(method, .object(["name": .string("poke")]))
                #expect(answer.error == "InvalidParameter", "\(method): \(answer)")
            }
            #expect(try asked.ask("\(service).Ping", .object([:])).error == nil)
        }
    }

    @Test(arguments: [["rel"], ["/a\0b"], [""], ["/a", "-n"]])
    func aPathThatIsNoneStartsNothing(paths: [String]) throws {
        try AskedRuntime.with(Self.watch) { asked in
            let run: [String: JSONValue] = ["name": .string("h"), "paths": .array(paths.map { .string($0) })]
            let path = try asked.ask(Run.fullName, .object(run))
            #expect(path.error == "InvalidParameter")
            let lines: [String: JSONValue] = ["name": .string("h"), "lines": .array([.string("a\nb")])]
            let line = try asked.ask(Run.fullName, .object(lines))
            #expect(line.error == "Refused")
            let history = try asked.call(ListHistory.self, .init())
            #expect(history.operations.isEmpty)
        }
    }

    @Test func aNameThatIsNoneIsRefusedWithTheNearest() throws {
        try AskedRuntime.with(Self.watch) { asked in
            for method in [ListSources.fullName, Explain.fullName, Suspend.fullName, Run.fullName] {
                let answer = try asked.ask(method, .object(["name": .string("uploadz")]))
                #expect(answer.error == "NoSuchName", "\(method): \(answer)")
                #expect("\(answer.parameters)".contains("uploads"), "\(method): \(answer)")
            }
        }
    }
}
