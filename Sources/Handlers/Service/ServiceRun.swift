import Engine
import EventSources
import Glibc
import LinuxSystem
import Schedule
import Systemd
import WatchFile

/// One run of a handler with `RunIn=unit`: a transient service, whose processes are the service manager's children. The
/// unit keeps its end (`RemainAfterExit=`, and failed ones stay) until a watchd has seen it, so a later one finds what
/// an earlier one has started, or how it ended.
///
/// The state of the unit is looked at, never counted from signals: each signal, and each new connection, is a reason to
/// look. Confined to the core.
final class ServiceRun: StartedRun, UnitListener {
    private enum Phase {
        case preparing
        /// There is no connection to the manager yet.
        case planned(ServicePlan)
        /// The manager has not answered yet.
        case requested
        case going
        /// It has ended; what it left running is being ended.
        case stopping(ServiceEnd)
        case reading
        case over
    }

    /// Microseconds from SIGKILL until the run counts as ended, whatever the kernel cannot end.
    private static let patience = 10_000_000
    /// Microseconds until a manager that does not answer is asked again.
    private static let pause = 1_000_000
    /// The job comes first: if there is none, the state that follows is not that of before it.
    private static let looks: [UnitClient.Question] = [
        .job, .activeState, .subState, .loadState, .processID, .invocation, .activeEnter,
    ]

    private let run: RunID
    private let shared: SharedDefinition
    /// `nil`: an earlier watchd has started it.
    private let request: StartRequest?
    private let unit: ServiceName
    private let environment: RunEnvironment
    private let began: () -> Void
    private let ended: () -> Void
    /// Of its conditions.
    private let earlier: RunOutput
    private let output: ServiceOutput
    private var phase = Phase.preparing
    private weak var client: UnitClient?
    private var job: (path: String, result: String?)?
    private var stopJob: String?
    private var isLooking = false
    private var looksAgain = false
    /// Its process, as the engine was told.
    private var processID: Int32?
    /// The engine knows that it runs: of one that an earlier watchd has started, it only hopes so.
    private var isFound: Bool
    private var invocation: String?
    private var ending: (signal: Int32, mode: KillMode)?
    /// Of `ending`, where the manager has not taken it, or has not said so.
    private var unsent: (signal: Int32, mode: KillMode)?
    private var hasGivenUp = false
    /// The loss of the connection, or the manager's silence, has been told.
    private var isLossTold = false
    private var bound: QueueBound<ServiceRun> { QueueBound(self, to: environment.core) }
    private var definition: HandlerDefinition { shared.value }

    /// - Parameters:
    ///   - earlier: what its conditions have written.
    ///   - began: a process of it runs.
    ///   - ended: it is over, which the engine is told next.
    init(
        _ request: StartRequest, _ environment: RunEnvironment, earlier: RunOutput = RunOutput(),
        began: @escaping () -> Void, ended: @escaping () -> Void
    ) {
        (run, shared, self.request) = (request.run, request.definition, request)
        unit = ServiceName(request.run, handler: request.definition.value.name, environment.instance())
        (self.environment, self.earlier, self.began, self.ended) = (environment, earlier, began, ended)
        isFound = true
        output = ServiceOutput(run, of: unit.text, environment)
    }

    /// Of a service that an earlier watchd has started.
    init(_ request: AdoptRequest, _ unit: ServiceName, _ environment: RunEnvironment, ended: @escaping () -> Void) {
        (run, shared, self.request, self.unit) = (request.run, request.definition, nil, unit)
        (self.environment, earlier, began, self.ended) = (environment, RunOutput(), {}, ended)
        isFound = false
        output = ServiceOutput(run, of: unit.text, environment)
        if request.pid > 0 { processID = request.pid }
    }

    var name: String { run.name(of: definition) }
    var delay: String? { nil }
    func tryNow() {}
    /// The manager keeps it.
    func keep() {}
    var outputSoFar: RunOutput { earlier + output.soFar }

    // MARK: Start

    func start() {
        guard let request else { return }
        environment.lanes.start(name) { [bound, unit, nice = environment.nice] in
            let result = Swift.Result { () throws(Child.Failure) in try ServicePlan(request, unit, nice: nice) }
            return { bound.value.prepared(result) }
        }
    }

    func adopt() {
        phase = .going
        output.find()
        environment.units.add(self)
    }

    private func prepared(_ result: Swift.Result<ServicePlan, Child.Failure>) {
        switch result {
        case .failure(let failure): finish(.notStarted(failure.reason))
        case .success(let plan):
            if let ending {
                plan.close()
                return finish(.notStarted("it got \(LinuxSignal.name(ending.signal)) before its unit was started"))
            }
            phase = .planned(plan)
            output.follow()
            environment.units.add(self)
        }
    }

    func giveUp() { hasGivenUp = true }

    /// The descriptor of the plan is the run's until the question has a duplicate.
    private func request(_ plan: ServicePlan, _ client: UnitClient) {
        client.startTransient(plan.name) { [weak self] in
            guard let self, case .planned = phase else { return nil }
            phase = .requested
            // While watchd is stopped its start would wait for that end, and the end for it.
            return hasGivenUp ? plan.settings.filter { $0.name != "Before" } : plan.settings
        } sent: {
            plan.close()
        } _: { [weak self] start in
            self?.requested(start)
        }
        environment.units.flush()
    }

    private func requested(_ start: UnitClient.Start) {
        guard case .requested = phase else { return }
        switch start {
        case .refused(let reason):
            environment.units.answered()
            return finish(.notStarted("\(unit.text): systemd refuses it: \(ServiceEnd.explained(reason))"))
        case .job(let job):
            environment.units.answered()
            self.job = (job, nil)
        // The manager makes it when it comes to it, perhaps: the next look is answered behind that.
        case .unanswered(let reason): tellLoss(reason)
        }
        phase = .going
        sendUnsent()
        look()
    }

    // MARK: The service manager

    func connected(_ client: UnitClient) {
        self.client = client
        isLossTold = false
        switch phase {
        case .planned(let plan): request(plan, client)
        case .requested, .going:
            // What happened meanwhile was told nobody.
            phase = .going
            client.hold(unit.text)
            sendUnsent()
            if ending?.signal == SIGKILL { expectEnd() }
            look()
        case .stopping(let end): stop(client, end, isActive: true)
        case .preparing, .reading, .over: break
        }
    }

    func take(_ news: UnitClient.News, _ client: UnitClient) {
        switch news {
        case .jobEnded(let path, let result):
            if path == job?.path {
                job?.result = result
                look()
            } else if path == stopJob {
                stopped(client)
            }
        case .changed(unit.text, _, _), .unloaded(unit.text), .reloaded: look()
        case .changed, .unloaded, .loaded, .gone: break
        }
    }

    /// A run that goes on is the manager's, with or without a bus.
    func failed(_ condition: SourceCondition) {
        guard case .failed(let reason, _) = condition else { return }
        (client, isLooking, stopJob) = (nil, false, nil)
        switch phase {
        case .planned(let plan):
            plan.close()
            phase = .reading
            later { $0.finish(.notStarted("RunIn=unit: \(reason)")) }
        case .requested, .going:
            // Its job is told by nobody any more.
            job = nil
            tellLoss(reason)
        case .stopping(let end):
            environment.logger.log(
                .warning, "\(name): \(reason); what is left of \(unit.text) is ended at the next start of watchd",
                run.logFields(of: definition))
            later { $0.read(end) }
        case .preparing, .reading, .over: break
        }
    }

    private func tellLoss(_ reason: String) {
        guard !isLossTold else { return }
        isLossTold = true
        environment.logger.log(
            .warning, "\(name): \(reason); \(unit.text) is looked at when systemd answers again",
            run.logFields(of: definition))
    }

    private func later(_ work: @escaping (ServiceRun) -> Void) {
        let work = QueueBound(work, to: environment.core)
        environment.core.async { [bound] in work.value(bound.value) }
    }

    // MARK: A look

    private func look() {
        guard case .going = phase, let client else { return }
        guard !isLooking else {
            looksAgain = true
            return
        }
        (isLooking, looksAgain) = (true, false)
        // What is asked before the job is performed may be answered after it.
        let isJobOver = job == nil || job?.result != nil
        ask(Self.looks, client) { run, answers in run.saw(answers, client, isJobOver: isJobOver) }
    }

    /// Of a manager that does not answer nothing follows: it is asked again.
    private func ask(
        _ questions: [UnitClient.Question], _ client: UnitClient,
        _ done: @escaping (ServiceRun, UnitClient.Answers) -> Void
    ) {
        client.ask(questions, of: unit.text) { [weak self, weak client] look in
            guard let self, let client, client === self.client, case .going = phase, isLooking else { return }
            isLooking = false
            switch look {
            case .answers(let answers): done(self, answers)
            case .refused(let reason): finish(.ended(nil, reason: "\(unit.text): \(reason)"))
            case .unanswered(let reason):
                tellLoss(reason)
                environment.core.after(Self.pause) { [bound] in bound.value.look() }
            }
        }
        environment.units.flush()
    }

    private func saw(_ answers: UnitClient.Answers, _ client: UnitClient, isJobOver: Bool) {
        environment.units.answered()
        isLossTold = false
        isSignalTaken()
        if !answers.text(.invocation).isEmpty { invocation = answers.text(.invocation) }
        tellProcess(answers)
        if hasEnded(answers, isJobOver: isJobOver) { return ask(client, answers) }
        if looksAgain { look() }
    }

    private func hasEnded(_ answers: UnitClient.Answers, isJobOver: Bool) -> Bool {
        switch answers.text(.activeState) {
        case "active": answers.text(.subState) == "exited"
        case "failed": true
        // Before its job is performed it is that too.
        case "inactive": isJobOver && (answers.number(.job) ?? 0) == 0
        default: false
        }
    }

    /// With `exec` a process counts when its program has been executed.
    private func tellProcess(_ answers: UnitClient.Answers) {
        guard let number = answers.number(.processID).flatMap({ Int32(exactly: $0) }), number > 0,
            definition.commandsOfUnit > 1 || (answers.number(.activeEnter) ?? 0) > 0,
            number != processID || !isFound
        else { return }
        let isFirst = processID == nil
        (processID, isFound) = (number, true)
        environment.send(.runStarted(run, pid: number))
        environment.send(.runUsed(run, usage(nil)))
        if isFirst, request != nil { began() }
    }

    private func usage(_ end: ServiceEnd?) -> ResourceUsage {
        var usage = end?.usage ?? ResourceUsage()
        usage.service = RunService(unit: unit.text, invocation: invocation ?? "", ended: end?.time)
        return usage
    }

    private func ask(_ client: UnitClient, _ seen: UnitClient.Answers) {
        let isActive = seen.text(.activeState) == "active"
        isLooking = true
        ask(ServiceEnd.questions, client) { run, answers in
            let end = ServiceEnd(unit: run.unit.text, answers: answers, jobResult: run.job?.result)
            run.stop(client, end, isActive: isActive)
        }
    }

    // MARK: End

    /// The manager ends what is left of a unit that has failed by itself.
    private func stop(_ client: UnitClient, _ end: ServiceEnd, isActive: Bool) {
        phase = .stopping(end)
        guard isActive else { return stopped(client) }
        if definition.killMode == .tree, ending == nil { client.kill(unit.text, all: true, signal: SIGKILL) }
        client.queue("StopUnit", unit.text) { [weak self, weak client] start in
            guard let self, let client, case .stopping(let end) = phase else { return }
            switch start {
            case .job(let job):
                stopJob = job
                stopsWithWatchd(job, client)
            // There is nothing to be stopped any more.
            case .refused: stopped(client)
            case .unanswered(let reason):
                tellLoss(reason)
                environment.core.after(Self.pause) { [bound] in bound.value.stopAgain(end) }
            }
        }
        environment.units.flush()
    }

    /// While the manager stops watchd, the job waits for that, for the unit stays behind watchd (`ServicePlan`): then
    /// nothing but the processes is waited for.
    private func stopsWithWatchd(_ job: String, _ client: UnitClient) {
        guard let own = UnitHub.ownUnit, definition.commandsOfUnit == 1 else { return }
        client.state(of: own) { [weak self, weak client] state, _ in
            guard let self, let client, state == "deactivating", case .stopping = phase, stopJob == job else { return }
            if definition.killMode == .tree { client.kill(unit.text, all: true, signal: SIGKILL) }
            stopped(client)
        }
    }

    private func stopAgain(_ end: ServiceEnd) {
        guard case .stopping = phase, let client, stopJob == nil else { return }
        stop(client, end, isActive: true)
    }

    private func stopped(_ client: UnitClient) {
        guard case .stopping(let end) = phase else { return }
        client.forget(unit.text) { [weak self] in self?.read(end) }
        environment.units.flush()
    }

    private func read(_ end: ServiceEnd) {
        guard case .stopping = phase else { return }
        phase = .reading
        output.finish(invocation: invocation) { [self] startFailure, failure in
            guard case .reading = phase else { return }
            if let failure {
                environment.logger.log(
                    .warning, "\(name): its output cannot be read from the journal: \(failure)",
                    run.logFields(of: definition))
            }
            environment.send(.runUsed(run, usage(end)))
            finish(end.verdict(definition, startFailure: startFailure))
        }
    }

    private func finish(_ verdict: ServiceEnd.Verdict) {
        if case .over = phase { return }
        phase = .over
        output.end()
        // Not while the connection is read.
        environment.units.later { [self] in environment.units.remove(self) }
        ended()
        switch verdict {
        case .notStarted(let reason) where hasGivenUp: environment.send(.runGivenUp(run, reason: reason))
        // A condition of it ran before, or a process that failed to become its program.
        case .notStarted(let reason) where processID != nil || earlier.total > 0:
            environment.send(.runEnded(run, nil, output: outputSoFar.end, reason: reason))
        case .notStarted(let reason): environment.send(.runNotStarted(run, reason: reason))
        case .ended(let exit, let reason):
            environment.send(.runEnded(run, exit, output: outputSoFar.end, reason: reason))
        }
    }

    // MARK: Signals

    func signal(_ number: Int32, _ mode: KillMode) {
        ending = (number, mode)
        if mode != .none { unsent = ending }
        switch phase {
        case .planned(let plan):
            plan.close()
            finish(.notStarted("it got \(LinuxSignal.name(number)) before its unit was started"))
        case .going, .stopping: sendUnsent()
        // It is sent when there is a process.
        case .preparing, .requested: break
        case .reading, .over: break
        }
    }

    /// Without a connection it is sent when there is one: until then the run goes on.
    private func sendUnsent() {
        guard let client, let (number, mode) = unsent else { return }
        unsent = nil
        client.kill(unit.text, all: mode == .tree, signal: number) { [weak self] isAnswered in
            guard let self else { return }
            if !isAnswered, unsent == nil {
                unsent = (number, mode)
            } else if number == SIGKILL {
                expectEnd()
            }
        }
        environment.units.flush()
    }

    /// The manager has answered a look: it has taken the signal before, though it had not said so.
    private func isSignalTaken() {
        if unsent?.signal == SIGKILL { expectEnd() }
        unsent = nil
    }

    private func expectEnd() {
        environment.core.after(Self.patience) { [bound] in bound.value.isLate() }
    }

    private func isLate() {
        switch phase {
        case .requested, .going, .stopping: break
        case .preparing, .planned, .reading, .over: return
        }
        // It is looked at when systemd answers again.
        guard client != nil else { return }
        guard !isLossTold, !isLooking else { return expectEnd() }
        finish(.ended(nil, reason: "\(unit.text) does not end after SIGKILL; it is left behind"))
    }
}
