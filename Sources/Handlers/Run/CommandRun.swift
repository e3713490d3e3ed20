import Engine
import EventSources
import Glibc
import LinuxSystem
import WatchFile

/// One run of a handler: its conditions, then its commands, one after the other until one fails. Confined to the core.
final class CommandRun: StartedRun {
    private let request: StartRequest
    private let environment: RunEnvironment
    /// Index in the handler's steps.
    private var step = 0
    private var output: OutputCapture?
    /// The output of earlier commands of the run.
    private var earlier = RunOutput()
    private var pidfd: FileDescriptor?
    private var processID: Int32?
    private var token: UInt64?
    private var retry = Retry()
    /// The rest of its process group, while that is waited for.
    private var group: ProcessGroup?
    /// Its cgroup, while it has one.
    private var leaf: ControlGroup?
    private var leafEnd: LeafEnd?
    /// Of its commands that have ended.
    private var usage = ResourceUsage()
    /// Its cgroup has told of the command that has just ended.
    private var isCounted = false
    /// A signal was sent, or is to be as soon as there is a process: no further command is started.
    private var ending: (signal: Int32, mode: KillMode)?
    /// It is not tried again.
    private var hasGivenUp = false
    /// Goes on behind its last process, with what was written until then.
    private let onward: ((RunOutput) -> Void)?
    private let began: () -> Void
    private let ended: () -> Void
    private let openedLines: (Child.LineEnds) -> Void
    private var isKept = false
    /// Its descriptors in the service manager's store.
    private var keptNames: [KeptDescriptor] = []
    /// Of a supervised process that is not ready as soon as it runs.
    private var readiness: ReadinessWatch?
    /// With `Progress=`.
    private var progress: ProgressWatch?
    private var bound: QueueBound<CommandRun> { QueueBound(self, to: environment.core) }

    /// - Parameters:
    ///   - onward: does what the processes are only the conditions of, in its place; `nil`: nothing is left to do then.
    ///   - began: a process of it runs.
    ///   - ended: it is over, which the engine is told next.
    ///   - openedLines: of a worker, takes the ends of its pipes over.
    init(
        _ request: StartRequest, _ environment: RunEnvironment, onward: ((RunOutput) -> Void)? = nil,
        began: @escaping () -> Void, ended: @escaping () -> Void,
        openedLines: @escaping (Child.LineEnds) -> Void = { $0.close() }
    ) {
        self.openedLines = openedLines
        self.request = request
        self.environment = environment
        self.onward = onward
        self.began = began
        self.ended = ended
    }

    /// Why it cannot be started yet.
    private(set) var delay: String?
    /// The reason in `delay`, without the time of the next try.
    private var refusal = ""

    var name: String { request.run.name(of: request.definition.value) }

    var outputSoFar: RunOutput { output.map { earlier + $0.soFar } ?? earlier }

    func start() {
        var child = Child(request: request, step: step, nice: environment.nice, instance: environment.instance())
        (child.containment, child.credentials) = (environment.containment, environment.credentials)
        do throws(SystemError) {
            if step == 0 {
                readiness?.end()
                readiness = try ReadinessWatch(request.readiness, environment) { [environment, run = request.run] in
                    environment.send(.ready(run))
                }
                progress?.end()
                progress = try makeProgress()
            }
            child.notifySocket = readiness?.socketName ?? progress?.socketName
            child.handover = try handover()
        } catch {
            let failure = Child.Failure(error)
            // As from a lane: later, when the caller is done.
            return environment.core.async { [bound] in bound.value.spawned(.failure(failure)) }
        }
        environment.lanes.start(name) { [bound, child] in
            let result = Swift.Result { () throws(Child.Failure) in try child.start() }
            return { bound.value.spawned(result) }
        }
    }

    private func makeProgress() throws(SystemError) -> ProgressWatch? {
        guard request.definition.value.tellsProgress else { return nil }
        return try ProgressWatch(environment) { [environment, run = request.run] in
            environment.send(.progress(run, $0))
        }
    }

    /// A descriptor of its own of what the newest event hands over, for the child to have and to close.
    private func handover() throws(SystemError) -> Int32? {
        guard request.definition.value.standardInput == .socket,
            case .line(let line) = request.events.last?.fact, let number = line.handover
        else { return nil }
        switch try environment.handovers.duplicate(number) {
        case .some(let descriptor): return descriptor.release()
        case .none: return nil
        }
    }

    func giveUp() {
        hasGivenUp = true
        guard delay != nil else { return }
        retry.cancel()
        givenUp(refusal)
    }

    private func givenUp(_ reason: String) {
        delay = nil
        forget()
        ended()
        environment.send(.runGivenUp(request.run, reason: reason))
    }

    /// Sends a signal to the process, or with `tree` to its group.
    func signal(_ number: Int32, _ mode: KillMode) {
        ending = (number, mode)
        // Nothing is there and nothing on its way: it waits for another try, which is not made any more.
        if delay != nil {
            retry.cancel()
            return finish(nil, reason: refusal, isStarted: false)
        }
        guard let processID, let descriptor = pidfd.number else { return }
        switch mode {
        // ESRCH: it has just ended, which its pidfd tells next.
        case .tree:
            try? Linux.kill(group: processID, signal: number)
            signalTree(number, leader: processID)
        case .process: try? Linux.pidfdSendSignal(descriptor, number)
        case .none: break
        }
    }

    /// Those that have left the process group.
    private func signalTree(_ number: Int32, leader: Int32) {
        guard let leaf else { return }
        if number == SIGKILL, let leafEnd { return leafEnd.kill() }
        environment.slow.submit("a signal to \(name)") {
            if number == SIGKILL { leaf.kill() } else { leaf.signal(number, but: leader) }
        }
    }

    // MARK: Start

    private func spawned(_ result: Swift.Result<Child.Outcome, Child.Failure>) {
        switch result {
        case .success(.started(let started)): took(started)
        case .success(.unmet(let condition)): skipped("\(condition) does not hold")
        case .success(.nothing): succeeded()
        case .failure(let failure) where failure.isTransient && ending == nil: tryAgain(failure)
        case .failure(let failure): finish(nil, reason: failure.reason, isStarted: false)
        }
    }

    func tryNow() {
        guard delay != nil else { return }
        retry.cancel()
        // A run that ended has just given back descriptors or a process.
        retry.reset()
        delay = nil
        start()
    }

    /// A limit is a delay: something is used up, and will be given back.
    private func tryAgain(_ failure: Child.Failure) {
        if hasGivenUp { return givenUp(failure.reason) }
        retry.schedule(on: environment.core) { [weak self] in
            self?.delay = nil
            self?.start()
        }
        refusal = failure.reason
        delay = "\(failure.reason); trying again in \(retry.description)"
        environment.logger.log(.warning, "\(name) cannot be started yet: \(delay ?? "")")
        environment.send(.runDelayed(request.run, reason: failure.reason))
    }

    private func took(_ started: Child.Started) {
        delay = nil
        for warning in started.warnings { environment.logger.log(.warning, "\(name): \(warning)") }
        processID = started.processID
        leaf = started.group
        if let read = started.output { capture(FileDescriptor(owning: read)) }
        if let lines = started.lines { openedLines(lines) }
        pidfd = FileDescriptor(owning: started.pidfd)
        do throws(SystemError) {
            token = try environment.epoll.add(started.pidfd, .readable) { [weak self] _ in self?.exited() }
        } catch {
            // Without a place in the epoll set its end would never be seen.
            try? Linux.kill(group: started.processID, signal: 9)
            if let group = started.group { environment.slow.submit("the end of \(name)") { group.kill() } }
            _ = try? Linux.wait(started.pidfd)
            return finish(nil, reason: "\(error), so it was killed", isStarted: true)
        }
        environment.send(.runStarted(request.run, pid: started.processID, asks: onward != nil))
        readiness?.begin(started.processID, in: started.group)
        progress?.begin(started.processID, in: started.group)
        if isKept { keep() } else { began() }
        if let ending { signal(ending.signal, ending.mode) }
    }

    private func capture(_ descriptor: consuming FileDescriptor) {
        output = OutputCapture(
            descriptor, of: request.run, whose: request.definition.value.name,
            fields: request.journalFields(processID: processID), environment
        ) { [weak self] in self?.readiness?.take($0) }
    }

    /// Puts what it takes to find its process again into the service manager's store, for each command anew.
    func keep() {
        isKept = true
        if let number = pidfd.number { keep(.pidfd(request.run), number) }
        if let number = output?.number { keep(.output(request.run), number) }
    }

    private func keep(_ name: KeptDescriptor, _ number: Int32) {
        environment.keep(name, number)
        keptNames.append(name)
    }

    private func forget() {
        for name in keptNames { environment.forget(name) }
        keptNames = []
    }

    // MARK: End

    private func exited() {
        guard let processID else { return }
        if let token { environment.epoll.remove(token) }
        token = nil
        if let leaf { return exited(in: leaf) }
        guard let ending, ending.mode == .tree else {
            return request.definition.value.killMode == .tree ? reap() : countLeft(processID)
        }
        // It was asked to end, and so was everybody of its group.
        let group = ProcessGroup(leader: processID, in: environment) { [weak self] in self?.reap() }
        self.group = group
        group.look()
    }

    /// Its process is a zombie until then, so that nobody else has its number.
    private func countLeft(_ leader: Int32) {
        environment.groups.find(of: leader) { [weak self] left in
            self?.usage.leftProcesses += left.count
            self?.reap()
        }
    }

    /// With `KillMode=tree` nothing of it goes on. Processes that were asked to end have the time for it; else it is
    /// over at once.
    private func exited(in leaf: ControlGroup) {
        let mode = ending?.mode ?? request.definition.value.killMode
        let end = LeafEnd(
            leaf, of: name, in: environment, ends: mode == .tree,
            kills: ending.map { $0.signal == SIGKILL } ?? true
        ) { [weak self] used in
            guard let self else { return }
            usage.add(used)
            isCounted = used.isCounted
            (self.leaf, leafEnd) = (nil, nil)
            reap()
        }
        leafEnd = end
        end.look()
    }

    private func reap() {
        guard let number = pidfd.number else { return }
        group = nil
        let status: ExitStatus
        do throws(SystemError) {
            guard let ended = try Linux.reap(number) else { return }
            status = ended.status
            if !isCounted { usage.add(ResourceUsage(ended.used)) }
            isCounted = false
        } catch {
            return finish(nil, reason: "\(error)", isStarted: true)
        }
        forget()
        pidfd.take()?.close()
        processID = nil
        if let output { earlier = earlier + output.runEnded() }
        output = nil
        next(after: Exit(status))
    }

    private func next(after exit: Exit) {
        let steps = request.definition.value.steps
        switch steps[step] {
        case .command, .mail:
            guard request.definition.value.isSuccess(exit) else { return finish(exit, reason: nil, isStarted: true) }
        case .condition:
            switch ConditionAnswer(exit) {
            case .holds: break
            case .doesNotHold: return skipped("\(conditionName) does not hold: \(text(exit))")
            case .failed: return finish(nil, reason: "\(conditionName) failed: \(text(exit))", isStarted: true)
            }
        }
        if ending != nil { return finish(exit, reason: nil, isStarted: true) }
        guard step + 1 < steps.count else { return succeeded(exit) }
        step += 1
        start()
    }

    private func succeeded(_ exit: Exit = .exited(0)) {
        guard let onward, ending == nil else { return finish(exit, reason: nil, isStarted: true) }
        environment.forgetCredentials(of: request.run, request.definition.value)
        onward(outputSoFar)
    }

    /// `ExecCondition=/usr/bin/test`.
    private var conditionName: String {
        guard case .template(let template) = request.definition.value.steps[step].command.words.first else {
            return "ExecCondition="
        }
        return "ExecCondition=" + template.expanded { _ in Array("…".utf8) }.printable
    }

    private func text(_ exit: Exit) -> String {
        switch exit {
        case .exited(let code): "exit \(code)"
        case .signaled(let number): LinuxSignal.name(number)
        }
    }

    private func skipped(_ reason: String) {
        progress?.end()
        environment.forgetCredentials(of: request.run, request.definition.value)
        ended()
        if usage.isKnown { environment.send(.runUsed(request.run, usage)) }
        environment.send(.runSkipped(request.run, output: outputSoFar.end, reason: reason))
    }

    private func finish(_ exit: Exit?, reason: String?, isStarted: Bool) {
        if let token { environment.epoll.remove(token) }
        token = nil
        readiness?.end()
        progress?.end()
        environment.forgetCredentials(of: request.run, request.definition.value)
        forget()
        pidfd.take()?.close()
        ended()
        if isStarted || step > 0 {
            if usage.isKnown { environment.send(.runUsed(request.run, usage)) }
            environment.send(.runEnded(request.run, exit, output: outputSoFar.end, reason: reason))
        } else {
            environment.send(.runNotStarted(request.run, reason: reason ?? "unknown"))
        }
    }
}
