package import Engine
import EventSources
package import LinuxSystem
package import WatchFile

/// The runs that are going on; of one operation several at once, when it is split. Confined to the core.
package final class RunSet {
    private let environment: RunEnvironment
    private var runs: [RunID: any OngoingRun] = [:]
    private var workers: [RunID: StreamWorker] = [:]
    /// Workers with lines that are not on their way yet, in the order in which they got them.
    private var unflushed: [StreamWorker] = []
    private let long: LongRuns
    private var hasGivenUp = false
    /// Ends that `bytesWritten` remembers.
    private static let writtenLimit = 256
    /// The newest last.
    private var written: [(operation: UInt64, bytes: Int)] = []

    package init(_ environment: RunEnvironment) {
        self.environment = environment
        long = LongRuns(core: environment.core)
        long.becameLong = { [weak self] in self?.becameLong($0) }
        long.roomCame = { [weak self] in self?.runs[$0]?.keep() }
    }

    package func start(_ request: StartRequest) {
        let id = request.run
        // A run that waits for the bus may outlive its set, at an end of watchd.
        let run = performer(of: request) { [weak self] in
            self?.long.began(id)
            self?.tryOneMore()
        } ended: { [weak self] in
            self?.ended(id)
        }
        runs[id] = run
        if hasGivenUp { run.giveUp() }
        run.start()
    }

    /// The performer of each kind of action.
    private func performer(
        of request: StartRequest, began: @escaping () -> Void, ended: @escaping () -> Void
    ) -> any StartedRun {
        switch request.definition.value.action {
        case .exec where request.definition.value.placement != nil:
            behindConditions(request, began: began, ended: ended) { [environment] output in
                ServiceRun(request, environment, earlier: output, began: began, ended: ended)
            }
        // Of what the engine does, the rim only looks at the conditions.
        case .exec, .stream, .mail, .log, .emit, .process, .client:
            CommandRun(request, environment, began: began, ended: ended)
        case .unit(let action):
            behindConditions(request, began: began, ended: ended) { [environment] output in
                UnitRun(request, action, environment, earlier: output, ended: ended)
            }
        }
    }

    /// What the service manager does, once the conditions hold.
    private func behindConditions(
        _ request: StartRequest, began: @escaping () -> Void, ended: @escaping () -> Void,
        _ make: @escaping (RunOutput) -> any StartedRun
    ) -> any StartedRun {
        guard !request.definition.value.conditions.isEmpty else { return make(RunOutput()) }
        // The conditions first, as processes.
        return CommandRun(
            request, environment,
            onward: { [weak self] output in
                guard let self else { return }
                let run = make(output)
                if hasGivenUp { run.giveUp() }
                runs[request.run] = run
                run.start()
            }, began: began, ended: ended)
    }

    // MARK: Workers

    package func startWorker(_ request: StartRequest) {
        let id = request.run
        let worker = StreamWorker(request, environment) { [weak self] in
            self?.tryOneMore()
        } ended: { [weak self] in
            self?.workers[id] = nil
            self?.ended(id)
        }
        (runs[id], workers[id]) = (worker, worker)
        if hasGivenUp { worker.giveUp() }
        worker.start()
    }

    /// Gives a worker the line of an operation. To be followed by `flush`, when all have what is for them.
    package func hand(_ line: StartRequest, to worker: RunID) {
        guard let worker = workers[worker] else { return }
        worker.hand(line)
        noteUnflushed(worker)
    }

    package func takeBack(_ run: RunID, from worker: RunID) {
        guard let worker = workers[worker] else { return }
        worker.takeBack(run)
        noteUnflushed(worker)
    }

    package func closeInput(of worker: RunID) { workers[worker]?.closeInput() }

    /// Writes what workers were given since the last call, as far as their pipes take it.
    package func flush() {
        while !unflushed.isEmpty {
            let workers = unflushed
            unflushed = []
            for worker in workers { worker.flush() }
        }
    }

    private func noteUnflushed(_ worker: StreamWorker) {
        if unflushed.last !== worker { unflushed.append(worker) }
    }

    /// The end of watchd does not wait for what cannot be started: that is told with `Input.runGivenUp`.
    package func giveUp() {
        hasGivenUp = true
        for run in Array(runs.values) { run.giveUp() }
    }

    /// Watches a process that outlived the daemon which started it; its end is told as that of any run.
    ///
    /// - Parameters:
    ///   - pidfd: of the process, from the service manager's store.
    ///   - output: the end that its output comes from, of the same place.
    package func adopt(
        _ request: AdoptRequest, pidfd: consuming FileDescriptor?, output: consuming FileDescriptor?
    ) {
        let id = request.run
        if let name = LivingServices(environment.instance()).name(of: id) {
            let run = ServiceRun(request, name, environment) { [weak self] in self?.ended(id) }
            runs[id] = run
            return run.adopt()
        }
        let run = AdoptedRun(request, environment) { [weak self] in self?.ended(id) }
        runs[id] = run
        run.begin(pidfd: pidfd, output: output)
        if runs[id] != nil, long.hasRoom(for: id) { run.keep() }
    }

    /// Ends what is left in cgroups of runs that are none of these: of an earlier watchd, and known to nobody.
    ///
    /// - Parameter known: runs that go on though nobody watches them.
    package func sweep(but known: Set<RunID> = []) {
        let known = known.union(runs.keys)
        sweepCredentials(but: known)
        let services = LivingServices(environment.instance()).names.filter { !known.contains($0.run) }
        if !services.isEmpty { ServiceSweep(services.map(\.text), environment).begin() }
        let containment = environment.containment
        let stale = containment.runs.filter { !known.contains($0.run) }
        guard !stale.isEmpty else { return }
        let logger = environment.logger
        environment.slow.submit("what is left of earlier runs") {
            for name in containment.sweep(stale.map(\.group)) {
                logger.log(.notice, "what was left of an earlier watchd in cgroup \(name) has been ended")
            }
        }
    }

    private func sweepCredentials(but known: Set<RunID>) {
        let (credentials, logger) = (environment.credentials, environment.logger)
        for name in credentials.sweep(but: known) {
            logger.log(.warning, "what an earlier run has put into its folder of credentials, \(name), is left there")
        }
    }

    package func signal(_ run: RunID, number: Int32, mode: KillMode) { runs[run]?.signal(number, mode) }

    /// A signal that is about to be sent, as it concerns the run, in words: `gets SIGTERM`.
    package func ending(_ run: RunID, number: Int32, mode: KillMode) -> String {
        (runs[run] as? UnitRun)?.ending(number, mode) ?? "gets \(LinuxSignal.name(number))"
    }

    /// Runs that cannot be started for want of something, with what.
    package var delays: [(name: String, reason: String)] {
        runs.values.compactMap { run in run.delay.map { (run.name, $0) } }.sorted { $0.0 < $1.0 }
    }

    /// The output of an operation's runs so far, part by part.
    package func output(of operation: UInt64) -> RunOutput {
        let own = runs.filter { $0.key.operation == operation }.sorted { $0.key.part < $1.key.part }
        return own.reduce(RunOutput()) { $0 + $1.value.outputSoFar }
    }

    /// Bytes that an operation had written in all when its last run ended; `nil`: that is too long ago.
    package func bytesWritten(by operation: UInt64) -> Int? { written.last { $0.operation == operation }?.bytes }

    private func becameLong(_ id: RunID) {
        guard let run = runs[id] else { return }
        environment.send(.runIsLong(id))
        if long.hasRoom(for: id) { run.keep() }
    }

    private func ended(_ id: RunID) {
        written.append((id.operation, output(of: id.operation).total))
        if written.count > Self.writtenLimit { written.removeFirst() }
        runs[id] = nil
        long.ended(id)
        tryOneMore()
    }

    /// A run that ends gives back what others lack, and where one has found it there may be enough for the next. One at
    /// a time: of many that try at once, each has a part of what a run takes, and all fail.
    private func tryOneMore() {
        let waiting = runs.filter { $0.value.delay != nil }
        waiting.min { ($0.key.operation, $0.key.part) < ($1.key.operation, $1.key.part) }?.value.tryNow()
    }
}
