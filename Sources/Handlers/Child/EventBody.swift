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
        writer.write(Member.action.rawValue, action, to: &members)
        writer.write(Member.byHand.rawValue, byHand, to: &members)
        writer.write(Member.cancelled.rawValue, cancelled, to: &members)
        writer.write(Member.captures.rawValue, captures, to: &members)
        writer.write(Member.command.rawValue, command, to: &members)
        writer.write(Member.commandBase64.rawValue, commandBase64, to: &members)
        writer.write(Member.count.rawValue, count, to: &members)
        writer.write(Member.data.rawValue, data, to: &members)
        writer.write(Member.directory.rawValue, directory, to: &members)
        writer.write(Member.event.rawValue, event, to: &members)
        writer.write(Member.executable.rawValue, executable, to: &members)
        writer.write(Member.exitStatus.rawValue, exitStatus, to: &members)
        writer.write(Member.failed.rawValue, failed, to: &members)
        writer.write(Member.failures.rawValue, failures, to: &members)
        writer.write(Member.help.rawValue, help, to: &members)
        writer.write(Member.id.rawValue, id, to: &members)
        writer.write(Member.incomplete.rawValue, incomplete, to: &members)
        writer.write(Member.kind.rawValue, kind, to: &members)
        writer.write(Member.line.rawValue, line, to: &members)
        writer.write(Member.lineBase64.rawValue, lineBase64, to: &members)
        writer.write(Member.lost.rawValue, lost, to: &members)
        writer.write(Member.name.rawValue, name, to: &members)
        writer.write(Member.number.rawValue, number, to: &members)
        writer.write(Member.object.rawValue, object, to: &members)
        writer.write(Member.of.rawValue, of, to: &members)
        writer.write(Member.ofHandler.rawValue, ofHandler, to: &members)
        writer.write(Member.oldPath.rawValue, oldPath, to: &members)
        writer.write(Member.oldPathBase64.rawValue, oldPathBase64, to: &members)
        writer.write(Member.outcome.rawValue, outcome, to: &members)
        writer.write(Member.output.rawValue, output, to: &members)
        writer.write(Member.path.rawValue, path, to: &members)
        writer.write(Member.pathBase64.rawValue, pathBase64, to: &members)
        writer.write(Member.peer.rawValue, peer, to: &members)
        writer.write(Member.pid.rawValue, pid, to: &members)
        writer.write(Member.problem.rawValue, problem, to: &members)
        writer.write(Member.ran.rawValue, ran, to: &members)
        writer.write(Member.reason.rawValue, reason, to: &members)
        writer.write(Member.recovered.rawValue, recovered, to: &members)
        writer.write(Member.replaced.rawValue, replaced, to: &members)
        writer.write(Member.result.rawValue, result, to: &members)
        writer.write(Member.runTime.rawValue, runTime, to: &members)
        writer.write(Member.scheduled.rawValue, scheduled, to: &members)
        writer.write(Member.senderExecutable.rawValue, senderExecutable, to: &members)
        writer.write(Member.senderPID.rawValue, senderPID, to: &members)
        writer.write(Member.senderUID.rawValue, senderUID, to: &members)
        writer.write(Member.signal.rawValue, signal, to: &members)
        writer.write(Member.silent.rawValue, silent, to: &members)
        writer.write(Member.since.rawValue, since, to: &members)
        writer.write(Member.source.rawValue, source, to: &members)
        writer.write(Member.time.rawValue, time, to: &members)
        writer.write(Member.unit.rawValue, unit, to: &members)
        writer.write(Member.unitState.rawValue, unitState, to: &members)
        writer.write(Member.user.rawValue, user, to: &members)
        writer.write(Member.value.rawValue, value, to: &members)
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
