import Engine
import JSON
import Schedule
import WatchFile

/// The fields of every kind of event; those that do not apply are absent.
struct EventBody {
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
    var byHand: Bool?
    var help: String?
    var since: String?

    init(_ event: Event, _ origin: Origin) {
        id = event.id
        source = origin.name
        kind = event.fact.kind
        self.event = event.fact.eventName
        time = Timestamp(microseconds: event.time).description
        count = event.count
        byHand = event.isByHand ? true : nil
        take(event.fact)
        if case .completion(let fact) = event.fact { take(fact) }
        ofHandler = origin.completedHandler
    }

    /// In the order of the alphabet.
    func write(to writer: inout JSONWriter, _ members: inout JSONWriter.Object) {
        writer.put(Member.action.rawValue, action, in: &members)
        writer.put(Member.byHand.rawValue, byHand, in: &members)
        writer.put(Member.cancelled.rawValue, cancelled, in: &members)
        writer.put(Member.captures.rawValue, captures, in: &members)
        writer.put(Member.command.rawValue, command, in: &members)
        writer.put(Member.commandBase64.rawValue, commandBase64, in: &members)
        writer.put(Member.count.rawValue, count, in: &members)
        writer.put(Member.data.rawValue, data, in: &members)
        writer.put(Member.directory.rawValue, directory, in: &members)
        writer.put(Member.event.rawValue, event, in: &members)
        writer.put(Member.executable.rawValue, executable, in: &members)
        writer.put(Member.exitStatus.rawValue, exitStatus, in: &members)
        writer.put(Member.failed.rawValue, failed, in: &members)
        writer.put(Member.failures.rawValue, failures, in: &members)
        writer.put(Member.help.rawValue, help, in: &members)
        writer.put(Member.id.rawValue, id, in: &members)
        writer.put(Member.incomplete.rawValue, incomplete, in: &members)
        writer.put(Member.kind.rawValue, kind, in: &members)
        writer.put(Member.line.rawValue, line, in: &members)
        writer.put(Member.lineBase64.rawValue, lineBase64, in: &members)
        writer.put(Member.lost.rawValue, lost, in: &members)
        writer.put(Member.name.rawValue, name, in: &members)
        writer.put(Member.number.rawValue, number, in: &members)
        writer.put(Member.object.rawValue, object, in: &members)
        writer.put(Member.of.rawValue, of, in: &members)
        writer.put(Member.ofHandler.rawValue, ofHandler, in: &members)
        writer.put(Member.oldPath.rawValue, oldPath, in: &members)
        writer.put(Member.oldPathBase64.rawValue, oldPathBase64, in: &members)
        writer.put(Member.outcome.rawValue, outcome, in: &members)
        writer.put(Member.output.rawValue, output, in: &members)
        writer.put(Member.path.rawValue, path, in: &members)
        writer.put(Member.pathBase64.rawValue, pathBase64, in: &members)
        writer.put(Member.peer.rawValue, peer, in: &members)
        writer.put(Member.pid.rawValue, pid, in: &members)
        writer.put(Member.problem.rawValue, problem, in: &members)
        writer.put(Member.ran.rawValue, ran, in: &members)
        writer.put(Member.reason.rawValue, reason, in: &members)
        writer.put(Member.recovered.rawValue, recovered, in: &members)
        writer.put(Member.replaced.rawValue, replaced, in: &members)
        writer.put(Member.result.rawValue, result, in: &members)
        writer.put(Member.runTime.rawValue, runTime, in: &members)
        writer.put(Member.scheduled.rawValue, scheduled, in: &members)
        writer.put(Member.senderExecutable.rawValue, senderExecutable, in: &members)
        writer.put(Member.senderPID.rawValue, senderPID, in: &members)
        writer.put(Member.senderUID.rawValue, senderUID, in: &members)
        writer.put(Member.signal.rawValue, signal, in: &members)
        writer.put(Member.silent.rawValue, silent, in: &members)
        writer.put(Member.since.rawValue, since, in: &members)
        writer.put(Member.source.rawValue, source, in: &members)
        writer.put(Member.time.rawValue, time, in: &members)
        writer.put(Member.unit.rawValue, unit, in: &members)
        writer.put(Member.unitState.rawValue, unitState, in: &members)
        writer.put(Member.user.rawValue, user, in: &members)
        writer.put(Member.value.rawValue, value, in: &members)
    }

    /// Their names in the message.
    enum Member: String, CaseIterable {
        case action
        case byHand = "by_hand"
        case cancelled
        case captures
        case command
        case commandBase64 = "command_base64"
        case count
        case data
        case directory
        case event
        case executable
        case exitStatus = "exit_status"
        case failed
        case failures
        case help
        case id
        case incomplete
        case kind
        case line
        case lineBase64 = "line_base64"
        case lost
        case name
        case number
        case object
        case of
        case ofHandler = "of_handler"
        case oldPath = "old_path"
        case oldPathBase64 = "old_path_base64"
        case outcome
        case output
        case path
        case pathBase64 = "path_base64"
        case peer
        case pid
        case problem
        case ran
        case reason
        case recovered
        case replaced
        case result
        case runTime = "run_usec"
        case scheduled
        case senderExecutable = "sender_executable"
        case senderPID = "sender_pid"
        case senderUID = "sender_uid"
        case signal
        case silent = "silent_usec"
        case since
        case source
        case time
        case unit
        case unitState = "unit_state"
        case user
        case value
    }

    /// Of a group: one of its operations that failed.
    struct Failure: JSONWritable {
        var handler: String
        var of: UInt64
        var reason: String

        init(_ failure: GroupFact.Failure) {
            (handler, of, reason) = (failure.handler, failure.operation, failure.reason)
        }

        func write(to writer: inout JSONWriter) {
            var object = writer.beginObject()
            writer.write("handler", handler, to: &object)
            writer.write("of", of, to: &object)
            writer.write("reason", reason, to: &object)
            writer.end(object)
        }
    }
}

// MARK: From the facts of an event

extension EventBody {
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
            commandBase64 = fact.arguments.map { Base64.encode($0) }
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
        String(validating: bytes, as: UTF8.self) == nil ? Base64.encode(bytes) : nil
    }
}

extension JSONWriter {
    /// `write` for each type by itself: most members of an event have no value, which the generic function of another
    /// module finds out in six hundred instructions.
    mutating func put(_ name: String, _ value: (some JSONWritable)?, in object: inout Object) {
        guard let value else { return }
        beginMember(name, of: &object)
        value.write(to: &self)
    }
}
