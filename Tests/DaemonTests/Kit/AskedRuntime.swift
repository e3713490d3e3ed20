import ControlInterface
import Dispatch
import EventSources
import Handlers
import JSON
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import Varlink
import WatchFile

@testable import Daemon

/// A runtime without a control socket, in the test's own process: a test asks it as somebody of its choice.
struct AskedRuntime {
    static let administrator = Peer(userID: 0, role: .administrator)
    /// No user has this number.
    static let reader = Peer(userID: 4_000_000, role: .reader(4_000_000))

    struct Answer {
        /// Without the interface; `nil`: it is a reply.
        var error: String?
        var parameters: JSONValue
    }

    private let target: RequestTarget
    private let end: Awaited<Void>

    /// - Parameter watch: a watch file; the state folder is a new one.
    static func with(_ watch: String, _ body: (AskedRuntime) throws -> Void) throws {
        try Folder.with { folder in
            let asked = try AskedRuntime(watch + "\n[Watchd]\nStateDirectory=\(folder["state"])\n", folder)
            try wait(for: "READY") { asked.target.core.queue.sync { asked.target.runtime.value.readiness.isReached } }
            try body(asked)
            _ = try asked.call(Stop.self, .init())
            try asked.end.wait("its end")
        }
    }

    private init(_ watch: String, _ folder: Folder) throws {
        let text = WatchFileText(file: "test.watch", bytes: Array(watch.utf8))
        let loaded = Daemon.load([text])
        let configuration = try #require(loaded.configuration, "\(loaded.diagnostics.map { $0.rendered() })")
        let end = Awaited<Void>()
        let (core, reactor) = try Context.withReactor("test.core")
        Context("test.events").async { try? reactor.run() }
        let parts = Daemon.Parts(
            options: .init(arguments: []), configuration: configuration,
            beginning: Daemon.Beginning(loaded, [text], nil, lines: []), socket: folder["control"].pathBytes,
            logger: Logger(level: .err), nice: 0, containment: Containment(reason: "it is a test"),
            kept: KeptDescriptors([]))
        target = try core.queue.sync {
            let slow = Lanes(core: core, name: "test.slow", count: 2)
            let probes = PathProbes(core: core, lanes: slow)
            let runtime = try Runtime(parts, core: core, slow: slow, probes: probes) {
                reactor.stop()
                end.come(())
            }
            runtime.start(serving: nil)
            let lookups = PeerLookups(core: core, processes: Context("test.peers"))
            return RequestTarget(
                core: core, runtime: QueueBound(runtime, to: core), lookups: QueueBound(lookups, to: core))
        }
        self.end = end
    }

    /// The reply to a method, as an error where it is refused.
    func call<Method: ControlMethod>(
        _ method: Method.Type, _ parameters: Method.Parameters, as peer: Peer = administrator
    ) throws -> Method.Reply {
        let answer = try ask(method.fullName, JSON.decode(from: JSON.encode(parameters)), as: peer)
        #expect(answer.error == nil, "\(method): \(answer)")
        return try JSON.decode(from: answer.parameters)
    }

    /// What a follower has been told who has been there from the beginning.
    func followed(as peer: Peer = administrator) -> [Follow.Reply] {
        target.core.queue.sync {
            let hub = target.runtime.value.follow
            let follower = hub.begin(since: 0)
            defer { hub.end(follower) }
            var replies: [Follow.Reply] = []
            hub.next(follower, limit: .max) { batch in
                replies = batch.records.compactMap { FollowRecord.reply($0, peer.role) }
            }
            return replies
        }
    }

    /// The operations that have ended, once there are as many; the newest first.
    func ended(_ count: Int) throws -> [OperationSummary] {
        var operations: [OperationSummary] = []
        try wait(for: "\(count) ends") {
            operations = try call(ListHistory.self, .init()).operations
            return operations.count >= count
        }
        return operations
    }

    /// The way of a message from a connection to the core and back.
    func ask(_ method: String, _ parameters: JSONValue, as peer: Peer = administrator) throws -> Answer {
        var connection = ServerConnection(slowSubscriberError: ManagerError.tooSlow.reply)
        let call = try Self.call(method, parameters, from: &connection)
        switch try answer(call, peer) {
        case .error(let error): connection.fail(call.number, with: error)
        case .reply(let reply): reply(&connection, call.number)
        }
        let reply: JSONValue = try JSON.decode(from: Array(connection.pendingOutput.dropLast()))
        let name = reply.members?["error"]?.string
        return Answer(
            error: name.map { String($0.split(separator: ".").last ?? "") },
            parameters: reply.members?["parameters"] ?? .object([:]))
    }

    /// The core does what is brought to it during a call before it has the answer to this call.
    func letsOthersBetween<Method: ControlMethod>(
        _ method: Method.Type, _ parameters: Method.Parameters
    ) throws -> Bool {
        var connection = ServerConnection(slowSubscriberError: ManagerError.tooSlow.reply)
        let call = try Self.call(
            method.fullName, JSON.decode(from: JSON.encode(parameters)), from: &connection)
        let request = try Request(call, Self.administrator)
        let (answer, other) = (Awaited<Void>(), Awaited<Bool>())
        target.core.queue.sync {
            target.perform(request, of: Self.administrator) { _ in answer.come(()) }
            target.core.async { other.come(!answer.hasCome) }
        }
        try answer.wait("the answer to \(method)")
        return try other.wait("the other")
    }

    private static func call(
        _ method: String, _ parameters: JSONValue, from connection: inout ServerConnection
    ) throws -> Call {
        let message = JSONValue.object(["method": .string(method), "parameters": parameters])
        connection.receive(try JSON.encode(message) + [0])
        let next = connection.next()
        return try #require(next)
    }

    private func answer(_ call: Call, _ peer: Peer) throws -> Request.Answer {
        let request: Request
        do throws(ErrorReply) { request = try Request(call, peer) } catch { return .error(error) }
        let answer = Awaited<Request.Answer>()
        target.core.queue.sync { target.perform(request, of: peer) { answer.come($0) } }
        return try answer.wait("the answer to \(call.method)")
    }
}

/// Something that comes once, from anywhere.
private final class Awaited<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    var hasCome: Bool { value.withLock { $0 != nil } }

    func come(_ value: Value) { self.value.withLock { $0 = value } }

    @discardableResult func wait(_ what: String) throws -> Value {
        try ProgramKit.wait(for: what) { hasCome }
        return try #require(value.withLock { $0 })
    }
}
