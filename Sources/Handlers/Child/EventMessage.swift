package import Engine
import FoundationEssentials
import Schedule
import WatchFile

/// The message for a handler on its standard input: one JSON object on one line (watchd.handler(7)).
package enum EventMessage {
    /// The whole message, ended by a newline.
    package static func line(_ context: RunContext) throws -> [UInt8] {
        let head = Head(
            id: context.operation, handler: context.handler, queue: context.queue, attempt: context.attempt,
            redelivered: context.isRedelivered,
            acquired: context.acquired.isEmpty
                ? nil
                : Dictionary(context.acquired.map { ($0.semaphore, $0.members) }) { first, _ in first })
        var text = try encode(head)
        text.removeLast()
        text += Array(",\"events\":[".utf8)
        for (index, event) in context.events.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text += try object(event, origin: context.origin)
        }
        text += Array("]}\n".utf8)
        return text
    }

    /// One event as a JSON object.
    package static func object(_ event: Event, origin: Origin) throws -> [UInt8] {
        var text = try encode(Body(event, origin))
        if case .custom(let fact) = event.fact, let payload = fact.payload {
            // It is JSON text already.
            text.removeLast()
            text += Array(",\"payload\":".utf8) + payload + [UInt8(ascii: "}")]
        }
        return text
    }

    private static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    private struct Head: Encodable {
        var id: UInt64
        var handler: String
        var queue: String
        var attempt: Int
        var redelivered: Bool
        /// By the name of the semaphore.
        var acquired: [String: [String]]?
    }

    /// Of a group: one of its operations that failed.
    struct Failure: Encodable {
        var handler: String
        var of: UInt64
        var reason: String

        init(_ failure: GroupFact.Failure) {
            (handler, of, reason) = (failure.handler, failure.operation, failure.reason)
        }
    }

    /// The fields of every kind; those that do not apply are absent.
    struct Body: Encodable {
        enum CodingKeys: String, CodingKey, CaseIterable {
            case id, source, kind, event, time, count, scheduled, signal, number, value, path, recovered, replaced, line
            case incomplete, peer, captures, pid, executable, unit, data, of, result, reason, output, ran, failed,
                cancelled, lost, failures, outcome, object, problem, action, help, since
            case ofHandler = "of_handler"
            case unitState = "unit_state"
            case senderPID = "sender_pid"
            case senderUID = "sender_uid"
            case senderExecutable = "sender_executable"
            case pathBase64 = "path_base64"
            case command, name, directory, user
            case commandBase64 = "command_base64"
            case oldPath = "old_path"
            case oldPathBase64 = "old_path_base64"
            case lineBase64 = "line_base64"
            case exitStatus = "exit_status"
            case runTime = "run_usec"
            case silent = "silent_usec"
        }

        var id: UInt64
        var source: String
        var kind: String
        var event: String
        var time: String
        var count: Int
        var scheduled: String?
        var signal: String?
        var number: Int32?
        var senderPID: Int32?
        var senderUID: UInt32?
        var senderExecutable: String?
        var value: Int32?
        var path: String?
        var pathBase64: String?
        var oldPath: String?
        var oldPathBase64: String?
        var recovered: Bool?
        var replaced: Bool?
        var line: String?
        var lineBase64: String?
        var incomplete: Bool?
        var peer: String?
        var captures: [String]?
        var pid: Int32?
        var executable: String?
        var exitStatus: Int32?
        var runTime: Int64?
        var unit: String?
        var silent: Int64?
        var data: Int64?
        var of: UInt64?
        var ofHandler: String?
        var outcome: String?
        var unitState: String?
        var result: String?
        var reason: String?
        var output: String?
        var ran: Int?
        var failed: Int?
        var cancelled: Int?
        var lost: Int?
        var failures: [Failure]?
        /// Of a client's command, its environment being nobody's concern.
        var command: [String]?
        var commandBase64: [String]?
        var name: String?
        var directory: String?
        var user: String?
        var object: String?
        var problem: String?
        var action: String?
        var help: String?
        var since: String?

        init(_ event: Event, _ origin: Origin) {
            id = event.id
            source = origin.name
            kind = event.fact.kind
            self.event = event.fact.eventName
            time = Timestamp(microseconds: event.time).description
            count = event.count
            take(event.fact)
            if case .completion(let fact) = event.fact { take(fact) }
            ofHandler = origin.completedHandler
        }

        private mutating func take(_ fact: Fact) {
            switch fact {
            case .timer(let time): scheduled = Timestamp(microseconds: time).description
            case .signal(let fact): take(fact)
            case .path(let fact): take(fact)
            case .line(let fact): take(fact)
            case .process(let fact):
                pid = fact.pid
                executable = fact.executable.map(text)
                take(fact.exit)
                outcome = fact.exit?.sentence
                runTime = fact.runTime
            case .unit(let fact): (unit, unitState, result) = (fact.unit, fact.change.rawValue, fact.result)
            case .silence(let fact): silent = fact.silent
            case .custom(let fact): data = fact.data
            case .command(let fact): take(fact)
            case .problem(let fact):
                (object, problem) = (fact.problem.object, fact.problem.sentence)
                (action, help, since) = (fact.problem.action, fact.problem.help, fact.problem.since)
            case .group(let fact):
                (ran, failed, cancelled) = (fact.ran, fact.failed, fact.cancelled)
                lost = fact.lost > 0 ? fact.lost : nil
                failures = fact.failures.isEmpty ? nil : fact.failures.map(Failure.init)
            case .completion, .finalizer: break
            }
        }

        private mutating func take(_ fact: SignalFact) {
            signal = LinuxSignal.name(fact.number)
            number = fact.number
            senderPID = fact.senderPID
            senderUID = fact.senderUID
            senderExecutable = fact.senderExecutable.map(text)
            value = fact.value
        }

        private mutating func take(_ fact: LineFact) {
            peer = fact.peer
            captures = fact.captures.isEmpty ? nil : fact.captures.map(text)
            guard fact.handover == nil else { return }
            line = text(fact.bytes)
            lineBase64 = base64(fact.bytes)
            incomplete = fact.isIncomplete ? true : nil
        }

        private mutating func take(_ fact: PathFact) {
            path = text(fact.path)
            pathBase64 = base64(fact.path)
            oldPath = fact.oldPath.map(text)
            oldPathBase64 = fact.oldPath.flatMap(base64)
            recovered = fact.isRecovered ? true : nil
            replaced = fact.hasReplaced ? true : nil
        }

        private mutating func take(_ fact: CommandFact) {
            command = fact.arguments.map(text)
            if fact.arguments.contains(where: { base64($0) != nil }) {
                commandBase64 = fact.arguments.map { Data($0).base64EncodedString() }
            }
            (name, directory) = (fact.name, text(fact.folder))
            switch fact.user {
            case .credentials(let credentials): user = "\(credentials.user)"
            case .named(let name): user = name
            }
        }

        /// The reported run, and the scalars of what it was about.
        private mutating func take(_ fact: CompletionFact) {
            var cause = fact.cause.fact
            var origin = fact.causeOrigin
            while case .completion(let inner) = cause { (cause, origin) = (inner.cause.fact, inner.causeOrigin) }
            take(cause)
            source = origin.name
            (of, outcome) = (fact.operation, fact.ending)
            (result, reason) = (fact.result?.rawValue, fact.reason)
            (exitStatus, signal) = (nil, nil)
            take(fact.exit)
            output = text(fact.output)
        }

        private mutating func take(_ exit: Exit?) {
            switch exit {
            case .exited(let code): exitStatus = code
            case .signaled(let number): signal = LinuxSignal.name(number)
            case nil: break
            }
        }

        private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

        private func base64(_ bytes: [UInt8]) -> String? {
            String(validating: bytes, as: UTF8.self) == nil ? Data(bytes).base64EncodedString() : nil
        }
    }
}
