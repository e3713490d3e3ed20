package import Engine
package import EventSources
import LinuxSystem
package import WatchFile

/// One run of a command handler: its commands one after the other until one fails. Confined to the core.
package final class CommandRun {
    private let request: StartRequest
    private let environment: RunEnvironment
    private var command = 0
    private var output: OutputCapture?
    /// The end of what earlier commands of the run wrote.
    private var earlier: [UInt8] = []
    private var pidfd: FileDescriptor?
    private var processID: Int32?
    private var token: UInt64?
    private var retry = Retry()
    /// What is left of its process group, while that is waited for.
    private var group: ProcessGroup?
    /// A signal was sent, or is to be as soon as there is a process: no further command is started.
    private var ending: (signal: Int32, mode: KillMode)?
    private let ended: () -> Void
    private var bound: QueueBound<CommandRun> { QueueBound(self, to: environment.core) }

    init(_ request: StartRequest, _ environment: RunEnvironment, ended: @escaping () -> Void) {
        self.request = request
        self.environment = environment
        self.ended = ended
    }

    /// Why it cannot be started yet.
    private(set) var delay: String?

    /// `thumbnail 4711`; the parts of one operation are told apart.
    var name: String {
        let part = request.run.part == 0 ? "" : " part \(request.run.part)"
        return "\(request.definition.value.name) \(request.run.operation)\(part)"
    }

    func start() {
        let child = Child(request: request, command: command, nice: environment.nice)
        environment.lanes.submit(name) { [bound, core = environment.core] in
            let result = Swift.Result { () throws(Child.Failure) in try child.start() }
            core.async { bound.value.spawned(result) }
        }
    }

    /// Sends a signal to the process, or with `tree` to its group.
    func signal(_ number: Int32, _ mode: KillMode) {
        ending = (number, mode)
        // Nothing is there and nothing on its way: it waits for another try, which is not made any more.
        if let delay {
            retry.cancel()
            return finish(nil, reason: delay, isStarted: false)
        }
        guard let processID, let descriptor = pidfd.number else { return }
        switch mode {
        // ESRCH: it has just ended, which its pidfd tells next.
        case .tree: try? Linux.kill(group: processID, signal: number)
        case .process: try? Linux.pidfdSendSignal(descriptor, number)
        case .none: break
        }
    }

    // MARK: Start

    private func spawned(_ result: Swift.Result<Child.Started, Child.Failure>) {
        switch result {
        case .success(let started): took(started)
        case .failure(let failure) where failure.isTransient && ending == nil: tryAgain(failure)
        case .failure(let failure): finish(nil, reason: failure.reason, isStarted: false)
        }
    }

    /// A limit is a delay: something is used up, and will be given back.
    private func tryAgain(_ failure: Child.Failure) {
        retry.schedule(on: environment.core) { [weak self] in
            self?.delay = nil
            self?.start()
        }
        delay = "\(failure.reason); trying again in \(retry.description)"
        environment.logger.log(.warning, "\(name) cannot be started yet: \(delay ?? "")")
    }

    private func took(_ started: Child.Started) {
        delay = nil
        if let read = started.output { capture(FileDescriptor(owning: read)) }
        processID = started.processID
        pidfd = FileDescriptor(owning: started.pidfd)
        do throws(SystemError) {
            token = try environment.epoll.add(started.pidfd, .readable) { [unowned self] _ in exited() }
        } catch {
            // Without a place in the epoll set its end would never be seen.
            try? Linux.kill(group: started.processID, signal: 9)
            _ = try? Linux.wait(started.pidfd)
            return finish(nil, reason: "\(error), so it was killed", isStarted: true)
        }
        environment.send(.runStarted(request.run, pid: started.processID))
        if let ending { signal(ending.signal, ending.mode) }
    }

    private func capture(_ descriptor: consuming FileDescriptor) {
        let handler = request.definition.value.name
        output = OutputCapture(
            descriptor, whose: handler,
            fields: [("WATCHD_HANDLER", handler), ("WATCHD_OPERATION", "\(request.run.operation)")],
            core: environment.core, epoll: environment.epoll, logger: environment.logger)
    }

    // MARK: End

    private func exited() {
        guard let processID else { return }
        if let token { environment.epoll.remove(token) }
        token = nil
        guard let ending, ending.mode == .tree else { return reap() }
        // It was asked to end, and so was everybody of its group.
        let group = ProcessGroup(
            leader: processID, core: environment.core, slow: environment.slow, epoll: environment.epoll
        ) { [weak self] in self?.reap() }
        self.group = group
        group.look()
    }

    private func reap() {
        guard let number = pidfd.number else { return }
        group = nil
        let status: ExitStatus
        do throws(SystemError) {
            guard let ended = try Linux.wait(number) else { return }
            status = ended
        } catch {
            return finish(nil, reason: "\(error)", isStarted: true)
        }
        pidfd.take()?.close()
        processID = nil
        output?.runEnded()
        earlier = tail
        output = nil
        next(after: Exit(status))
    }

    private var tail: [UInt8] { Array((earlier + (output?.tail ?? [])).suffix(OutputCapture.kept)) }

    private func next(after exit: Exit) {
        guard case .exec(let commands) = request.definition.value.action, command + 1 < commands.count, ending == nil,
            request.definition.value.isSuccess(exit)
        else { return finish(exit, reason: nil, isStarted: true) }
        command += 1
        start()
    }

    private func finish(_ exit: Exit?, reason: String?, isStarted: Bool) {
        if let token { environment.epoll.remove(token) }
        token = nil
        pidfd.take()?.close()
        ended()
        if isStarted || command > 0 {
            environment.send(.runEnded(request.run, exit, output: tail, reason: reason))
        } else {
            environment.send(.runNotStarted(request.run, reason: reason ?? "unknown"))
        }
    }
}

/// What runs share.
package struct RunEnvironment {
    package let core: Context
    /// For work that may take long.
    package let slow: Context
    package let epoll: EpollSet
    package let lanes: Lanes
    package let logger: Logger
    /// The daemon's own, which Dispatch changes on its threads (LIBDISPATCH, row 17).
    package let nice: Int32
    package let send: (Input) -> Void

    package init(
        core: Context, slow: Context, epoll: EpollSet, lanes: Lanes, logger: Logger, nice: Int32,
        send: @escaping (Input) -> Void
    ) {
        self.core = core
        self.slow = slow
        self.epoll = epoll
        self.lanes = lanes
        self.logger = logger
        self.nice = nice
        self.send = send
    }
}

/// The runs that are going on; of one operation several at once, when it is split. Confined to the core.
package final class RunSet {
    private let environment: RunEnvironment
    private var runs: [RunID: CommandRun] = [:]

    package init(_ environment: RunEnvironment) { self.environment = environment }

    package func start(_ request: StartRequest) {
        let run = CommandRun(request, environment) { [unowned self] in runs[request.run] = nil }
        runs[request.run] = run
        run.start()
    }

    package func signal(_ run: RunID, number: Int32, mode: KillMode) { runs[run]?.signal(number, mode) }

    /// Runs that cannot be started for want of something, with what.
    package var delays: [(name: String, reason: String)] {
        runs.values.compactMap { run in run.delay.map { (run.name, $0) } }.sorted { $0.0 < $1.0 }
    }
}
