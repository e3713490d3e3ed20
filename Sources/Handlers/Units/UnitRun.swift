import Engine
import EventSources
import LinuxSystem
import Schedule
import Systemd
import WatchFile

/// One run of a `Unit=`: a job for each unit, all asked for at once. It ends when all jobs have, and with `UnitWait=yes`
/// their units. Where the bus or the manager goes away meanwhile, it looks at what has become of them when there is one
/// again. Confined to the core.
final class UnitRun: StartedRun, UnitListener {
    /// A unit and what has become of it.
    private struct Part {
        var unit: String
        /// The manager does not forget it meanwhile.
        var isHeld = false
        /// Its object while it is there.
        var job: String?
        var isJobOver = false
        /// The job is gone, and nobody has told how it ended.
        var isInDoubt = false
        var isOver = false
        /// The output has the lines of its processes, and how it ended.
        var isTold = false
        /// Why it has failed.
        var failure: String?
        /// The last that was told of it: its state, and `Result`.
        var state: String?
        var result: String?
        var invocation: String?
        /// The manager has forgotten that run, or the unit runs anew: the journal has its end.
        var isPast = false
    }

    private let request: StartRequest
    private let action: UnitAction
    private let environment: RunEnvironment
    private let ended: () -> Void
    private let earlier: RunOutput
    private var output = RunOutput()
    private var parts: [Part] = []
    /// When the jobs were asked for: wall and monotonic clock, microseconds.
    private var asked: (time: Int64, monotonic: Int64)?
    /// Why there is no service manager to speak to, after the jobs were asked for.
    private var loss: String?
    /// So often there was none any more.
    private var losses = 0
    private weak var client: UnitClient?
    private var isEnding = false
    private var isOver = false
    /// Microseconds for which a bus that is gone may come again.
    private static let patience = 10_000_000
    /// Microseconds for the last try to reach one.
    private static let lastPatience = 2_000_000
    /// Microseconds until a question is asked again that nobody has answered.
    private static let pause = 1_000_000
    /// Milliseconds for which journald may write what it has: `TimeoutSec=` goes on meanwhile.
    private static let journalPatience: Int32 = 1000
    private var bound: QueueBound<UnitRun> { QueueBound(self, to: environment.core) }

    /// - Parameters:
    ///   - earlier: what its conditions have written.
    ///   - ended: it is over, which the engine is told next.
    init(
        _ request: StartRequest, _ action: UnitAction, _ environment: RunEnvironment,
        earlier: RunOutput = RunOutput(), ended: @escaping () -> Void
    ) {
        self.request = request
        self.action = action
        self.environment = environment
        self.earlier = earlier
        self.ended = ended
    }

    var name: String { request.run.name(of: request.definition.value) }
    var delay: String? { nil }
    func tryNow() {}
    func giveUp() {}
    /// There is no process that a next watchd could find.
    func keep() {}
    var outputSoFar: RunOutput { earlier + output }

    func start() {
        environment.send(.runStarted(request.run, pid: nil))
        let names = action.names(RunContext(request, host: Linux.hostName).value)
        for bytes in names {
            guard bytes.count <= UnitEscape.longestName, let name = String(validating: bytes, as: UTF8.self) else {
                return later("\(bytes.printable) is too long for the name of a unit")
            }
            parts.append(Part(unit: name))
        }
        if let name = parts.first(where: { $0.unit.contains("@.") }) {
            return later("\(name.unit) has no instance: its specifier does not apply to the event")
        }
        // Its answer may come while the caller is not done.
        environment.core.async { [bound] in
            let run = bound.value
            if !run.isOver { run.environment.units.add(run) }
        }
    }

    /// The first signal cancels the jobs, and with them the run; the second one leaves them.
    func signal(_ number: Int32, _ mode: KillMode) {
        // Only the journal is waited for.
        if !parts.isEmpty, parts.allSatisfy(\.isOver) { return tellThoseThatAreOver() }
        guard let client, cancels(number, mode) else { return leave() }
        isEnding = true
        for job in jobs { client.cancel(job: job) }
        environment.units.flush()
    }

    /// The effect that `signal` is about to have, in words.
    func ending(_ number: Int32, _ mode: KillMode) -> String {
        cancels(number, mode) ? "has its jobs cancelled" : "leaves its jobs to themselves"
    }

    private func leave() {
        guard asked != nil else { return later("the jobs were left to themselves") }
        for index in parts.indices {
            end(index, failure: parts[index].isJobOver ? "it still runs" : "its job was left to itself")
        }
    }

    private func cancels(_ number: Int32, _ mode: KillMode) -> Bool {
        client != nil && !isEnding && mode != .none && number != 9 && !jobs.isEmpty
    }

    private var jobs: [String] { parts.compactMap { $0.isJobOver ? nil : $0.job } }

    // MARK: The service manager

    func connected(_ client: UnitClient) {
        guard !isOver else { return }
        self.client = client
        guard asked == nil else { return lookAgain(client) }
        asked = (Linux.now(.realtime), Linux.now(.monotonic))
        for index in parts.indices {
            client.resolve(parts[index].unit) { [weak self, weak client] unit in
                guard let self, let client, !isOver else { return }
                parts[index].unit = unit
                // Else one that has ended may be forgotten before it is asked about.
                parts[index].isHeld = true
                client.hold(unit)
                client.queue(action.verb.method, unit) { [weak self] in self?.queued(index, $0) }
            }
        }
        environment.units.flush()
    }

    private func queued(_ index: Int, _ start: UnitClient.Start) {
        guard !isOver else { return }
        environment.units.answered()
        switch start {
        case .job(let job):
            parts[index].job = job
            // A job that ends watchd itself: to wait for its end would be to wait for one's own.
            if !isEnding, action.verb.ends, parts[index].unit == UnitHub.ownUnit { return end(index, failure: nil) }
            if isEnding { client?.cancel(job: job) }
        case .refused(let reason), .unanswered(let reason): end(index, failure: ServiceEnd.explained(reason))
        }
    }

    func take(_ news: UnitClient.News, _ client: UnitClient) {
        guard !isOver else { return }
        switch news {
        case .jobEnded(let job, let result):
            // Two names may be one unit's.
            for index in parts.indices where parts[index].job == job && !parts[index].isJobOver {
                parts[index].isJobOver = true
                parts[index].failure = Self.sentence(result)
                jobEnded(index, client)
            }
        case .changed(let unit, let state, let result): saw(unit, state, result, client)
        case .unloaded(let unit): saw(unit, "inactive", nil, client)
        case .loaded, .reloaded, .gone: break
        }
    }

    func failed(_ condition: SourceCondition) {
        guard !isOver, !parts.allSatisfy(\.isOver), case .failed(let reason, _) = condition else { return }
        guard asked != nil else { return later(reason) }
        defer { loss = reason }
        guard loss == nil else { return }
        losses += 1
        environment.core.after(Self.patience) { [bound, losses] in bound.value.giveUpTheBus(losses) }
    }

    private func giveUpTheBus(_ number: Int) {
        guard !isOver, loss != nil, number == losses else { return }
        // It may have come since the last look for it.
        environment.units.tryNow()
        environment.core.after(Self.lastPatience) { [bound] in bound.value.reallyGiveUpTheBus(number) }
    }

    private func reallyGiveUpTheBus(_ number: Int) {
        guard !isOver, let loss, number == losses else { return }
        tellThoseThatAreOver()
        let open = parts.filter { !$0.isOver }.map(\.unit)
        if !open.isEmpty { later("\(loss); what becomes of \(open.joined(separator: ", ")) is not known") }
    }

    /// There is a connection again, which knows nothing of what an earlier one was told or asked for.
    private func lookAgain(_ client: UnitClient) {
        loss = nil
        for index in parts.indices where !parts[index].isOver {
            guard let job = parts[index].job else {
                end(index, failure: "it is not known whether it has a job")
                continue
            }
            client.hold(parts[index].unit)
            if parts[index].isInDoubt {
                jobIsGone(index, client)
            } else if parts[index].isJobOver {
                jobEnded(index, client)
            } else {
                if isEnding { client.cancel(job: job) }
                seeJob(index, job, client)
            }
        }
        environment.units.flush()
    }

    private func seeJob(_ index: Int, _ job: String, _ client: UnitClient) {
        client.job(of: parts[index].unit) { [weak self, weak client] found in
            guard let self, let client, !isOver, !parts[index].isJobOver else { return }
            if found == nil {
                environment.core.after(Self.pause) { [bound, client = QueueBound(client, to: environment.core)] in
                    let run = bound.value
                    guard !run.isOver, !run.parts[index].isJobOver, run.client === client.value else { return }
                    run.seeJob(index, job, client.value)
                    run.environment.units.flush()
                }
            } else if found != job {
                jobIsGone(index, client)
            }
        }
    }

    /// Nobody has told how the job ended; the journal may, or its unit.
    private func jobIsGone(_ index: Int, _ client: UnitClient) {
        (parts[index].isJobOver, parts[index].isInDoubt) = (true, true)
        let (scope, since, core) = (environment.units.scope, asked?.time ?? 0, environment.core)
        let client = QueueBound(client, to: core)
        let job = parts[index].job ?? ""
        environment.slow.submit("the job of \(parts[index].unit)") { [bound] in
            let result = try? JournalReader.result(
                ofJob: job, scope: scope, since: since, patience: Self.journalPatience)
            core.async { bound.value.found(result, ofJobOf: index, client.value) }
        }
    }

    private func found(_ end: JournalReader.JobEnd?, ofJobOf index: Int, _ client: UnitClient) {
        guard !isOver, client === self.client, parts[index].isInDoubt else { return }
        guard let end else { return askUnit(index, client) }
        parts[index].isInDoubt = false
        parts[index].failure = Self.sentence(end.result)
        parts[index].invocation = parts[index].invocation ?? end.invocation
        jobEnded(index, client)
    }

    private func askUnit(_ index: Int, _ client: UnitClient) {
        let (unit, asked) = (parts[index].unit, asked?.monotonic ?? 0)
        var changed: UInt64?
        client.changeTime(of: unit) { changed = $0 }
        var hasEndedWell = false
        client.hasEndedWell(unit, since: asked) { hasEndedWell = $0 }
        client.state(of: unit) { [weak self, weak client] state, _ in
            guard let self, let client, !isOver, parts[index].isInDoubt else { return }
            parts[index].isInDoubt = false
            let hasChanged = UInt64(max(0, asked)) <= changed ?? 0
            let hasFailed = action.verb.mayStart && state == "failed"
            if !hasFailed, !action.verb.wasDone(state, hasChanged: hasChanged, hasEndedWell: hasEndedWell) {
                parts[index].failure = "how its job ended is not known"
            }
            jobEnded(index, client)
        }
        environment.units.flush()
    }

    // MARK: A job and its unit

    private func jobEnded(_ index: Int, _ client: UnitClient) {
        client.invocation(of: parts[index].unit) { [weak self] now in
            guard let self else { return }
            let known = parts[index].invocation
            parts[index].isPast = known != nil && known != now
            parts[index].invocation = known ?? now
        }
        seeState(index, client)
        environment.units.flush()
    }

    private func seeState(_ index: Int, _ client: UnitClient) {
        client.state(of: parts[index].unit) { [weak self, weak client] state, failure in
            guard let self, let client, !isOver, !parts[index].isOver else { return }
            guard let state else { return end(index, failure: parts[index].failure ?? failure) }
            if action.waits, action.verb.mayStart, parts[index].isPast, parts[index].failure == nil {
                return askJournal(index)
            }
            parts[index].state = state
            let goesOn = action.waits && parts[index].failure == nil && !["inactive", "failed"].contains(state)
            if !goesOn { look(index, client) }
        }
    }

    private func askJournal(_ index: Int) {
        let (unit, invocation) = (parts[index].unit, parts[index].invocation ?? "")
        let (scope, since) = (environment.units.scope, asked?.time ?? 0)
        environment.slow.submit("the end of \(unit)") { [bound, core = environment.core] in
            let result = try? JournalReader.result(
                ofInvocation: invocation, scope: scope, since: since, patience: Self.journalPatience)
            core.async { bound.value.found(result, ofRunOf: index) }
        }
    }

    private func found(_ result: String?, ofRunOf index: Int) {
        guard !isOver, !parts[index].isOver else { return }
        guard let result else {
            // Of some kinds the manager tells no end.
            let isSilent = [".target", ".slice", ".device"].contains(where: parts[index].unit.hasSuffix)
            return end(index, failure: isSilent ? nil : "systemd does not know any more how it ended")
        }
        (parts[index].state, parts[index].result) = (nil, result)
        judge(index)
    }

    private func saw(_ unit: String, _ state: String, _ result: String?, _ client: UnitClient) {
        // Before its job is over, a unit passes through states that are not its end.
        guard action.waits, let index = parts.firstIndex(where: { $0.unit == unit && $0.isJobOver && !$0.isOver }),
            parts[index].state != nil, ["inactive", "failed"].contains(state)
        else { return }
        (parts[index].state, parts[index].result) = (state, result)
        look(index, client)
    }

    /// The unit has come to where the run ends.
    private func look(_ index: Int, _ client: UnitClient) {
        guard parts[index].result == nil else { return judge(index) }
        client.result(of: parts[index].unit) { [weak self] result in
            guard let self, !isOver, !parts[index].isOver else { return }
            parts[index].result = result
            judge(index)
        }
        environment.units.flush()
    }

    private func judge(_ index: Int) {
        let part = parts[index]
        if let failure = part.failure { return end(index, failure: failure) }
        // To be stopped is all that is asked of one that has failed before.
        let hasFailed =
            action.verb.mayStart && part.state == "failed" || action.waits && !["success", nil].contains(part.result)
        end(index, failure: hasFailed ? "it has failed\(part.result.map { " (\($0))" } ?? "")" : nil)
    }

    private func end(_ index: Int, failure: String?) {
        guard !parts[index].isOver else { return }
        (parts[index].isOver, parts[index].failure) = (true, failure)
        guard let invocation = parts[index].invocation else { return tell(index, nil) }
        let (unit, scope, since) = (parts[index].unit, environment.units.scope, asked?.time ?? 0)
        environment.slow.submit("the output of \(unit)") { [bound, core = environment.core] in
            let lines = try? JournalReader.lines(
                of: unit, scope: scope, invocation: invocation, since: since, kept: OutputCapture.kept,
                patience: Self.journalPatience)
            core.async { bound.value.tell(index, lines) }
        }
    }

    /// The journal is not waited for any more.
    private func tellThoseThatAreOver() {
        for index in parts.indices where parts[index].isOver { tell(index, nil) }
    }

    /// - Parameter lines: what its processes have written; `nil`: the journal cannot be read.
    private func tell(_ index: Int, _ lines: JournalReader.Lines?) {
        guard !isOver, !parts[index].isTold else { return }
        parts[index].isTold = true
        if let lines { add(lines) }
        tellEnd(of: parts[index])
        guard parts.allSatisfy(\.isTold) else { return }
        let failures = parts.compactMap { part in part.failure.map { "\(part.unit): \($0)" } }
        finish(failures.isEmpty ? .exited(0) : nil, reason: failures.isEmpty ? nil : failures.joined(separator: "; "))
    }

    private func tellEnd(of part: Part) {
        var words = ["\(part.unit): \(action.verb.rawValue) \(part.failure ?? "done")"]
        if let state = part.state { words.append(state) }
        if let result = part.result { words.append("result \(result)") }
        if let invocation = part.invocation { words.append("_SYSTEMD_INVOCATION_ID=\(invocation)") }
        let line = words.joined(separator: ", ")
        environment.logger.write(
            .info, "\(request.definition.value.name)| \(line)", request.journalFields(processID: nil))
        let bytes = Array(line.utf8) + [UInt8(ascii: "\n")]
        output = output + RunOutput(end: bytes, total: bytes.count)
        environment.wrote(request.run, [LineFramer.Line(bytes: Array(line.utf8))])
    }

    private func add(_ lines: JournalReader.Lines) {
        let end = lines.end.suffix(OutputCapture.kept)
        output = output + RunOutput(end: Array(end), total: lines.total)
        // The first one is a rest where some were too many, the last one nothing.
        let texts = end.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
        let whole = texts.dropFirst(lines.total > end.count ? 1 : 0)
        if !whole.isEmpty { environment.wrote(request.run, whole.map { LineFramer.Line(bytes: Array($0)) }) }
    }

    /// The sentence of a job's result; `nil`: it is a success, as systemctl has it.
    private static func sentence(_ result: String) -> String? {
        switch result {
        case "done", "skipped": nil
        case "canceled": "its job was cancelled"
        case "timeout": "its job took too long for its unit"
        case "failed": "its job failed"
        case "dependency": "a unit that it needs failed"
        default: "its job ended as \(result)"
        }
    }

    // MARK: End

    private func later(_ reason: String) {
        environment.core.async { [bound] in bound.value.finish(nil, reason: reason) }
    }

    private func finish(_ exit: Exit?, reason: String?) {
        guard !isOver else { return }
        isOver = true
        if let client { for part in parts where part.isHeld { client.release(part.unit) } }
        // Not while the connection is read.
        environment.core.async { [bound] in bound.value.environment.units.remove(bound.value) }
        ended()
        environment.send(.runEnded(request.run, exit, output: outputSoFar.end, reason: reason))
    }
}

extension UnitAction.Verb {
    /// Whether a job that is gone has been done, as far as its unit tells.
    ///
    /// - Parameters:
    ///   - hasChanged: the unit's state has, since the job was asked for.
    ///   - hasEndedWell: its main process has, since then: a `Type=oneshot` is inactive again when its job is done.
    fileprivate func wasDone(_ state: String?, hasChanged: Bool, hasEndedWell: Bool) -> Bool {
        switch self {
        case .start: state == "active" || state == "inactive" && hasEndedWell
        case .restart: state == "active" && hasChanged || state == "inactive" && hasEndedWell
        // To one that does not run it does nothing.
        case .tryRestart: state == "active" && hasChanged || state == "inactive" && (hasEndedWell || !hasChanged)
        case .stop: state == "inactive" || state == "failed"
        // They change no state.
        case .reload, .reloadOrRestart: false
        }
    }

    /// Of `org.freedesktop.systemd1.Manager`.
    fileprivate var method: String {
        switch self {
        case .start: "StartUnit"
        case .stop: "StopUnit"
        case .restart: "RestartUnit"
        case .reload: "ReloadUnit"
        case .tryRestart: "TryRestartUnit"
        case .reloadOrRestart: "ReloadOrRestartUnit"
        }
    }
}
