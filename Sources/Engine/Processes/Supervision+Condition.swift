import Schedule
import WatchFile

/// The condition of a supervised command, as seen from outside.
extension Supervision {
    /// That of the copy which is worst off.
    func condition(at now: Moment) -> SourceCondition {
        let conditions = copies.prefix(command.workers).map { condition(of: $0, at: now) }
        for condition in conditions { if case .failed = condition { return condition } }
        if conditions.contains(.opening) { return .opening }
        return conditions.first { $0 != .armed } ?? .armed
    }

    private func condition(of process: SupervisedProcess, at now: Moment) -> SourceCondition {
        switch process.stage {
        case .up: return .armed
        case .starting: return process.isGettingReady ? .waiting("not ready yet: \(command.readiness.key)") : .opening
        case .stopping: return .waiting("stopping")
        case .backingOff:
            return .failed(process.outcome?.sentence ?? "down", retryAt: process.nextStart(at: now))
        case .down:
            guard process.wanted == .up else { return .waiting("stopped") }
            guard let outcome = process.outcome else { return .opening }
            let why = "Restart=\(command.restart.rawValue)"
            return isSuccess(outcome)
                ? .waiting("\(outcome.sentence); \(why)") : .failed("\(outcome.sentence); \(why): it stays down")
        }
    }

    private func isSuccess(_ outcome: SupervisedProcess.Outcome) -> Bool {
        guard case .ended(let exit?, _) = outcome else { return false }
        return command.process.isSuccess(exit)
    }

    func views(at now: Moment) -> [SupervisedView] {
        copies.indices.map { index in
            let process = copies[index]
            return SupervisedView(
                copy: index + 1, stage: process.stage, isWanted: process.wanted == .up && index < command.workers,
                pid: process.life?.pid, since: process.since, restarts: process.restarts,
                nextStart: process.nextStart(at: now),
                lastEnd: process.outcome?.sentence, lastEndTime: process.outcomeTime)
        }
    }
}

extension Supervisor {
    /// The condition of a source, or what its first start waits for.
    func condition(of source: Int, _ supervision: Supervision, at now: Moment) -> SourceCondition {
        let condition = supervision.condition(at: now)
        guard case .opening = condition, let wait = firstWait(of: source) else { return condition }
        return .waiting(wait)
    }

    /// The process that its first start waits for, as a sentence; `nil`: none.
    func firstWait(of source: Int) -> String? {
        guard delayed.contains(source), let name = unready(before: source) else { return nil }
        return "process/\(name), which is not ready (After=process/\(name))"
    }
}

extension SupervisedCommand.Readiness {
    /// How its section says it.
    var key: String {
        switch self {
        case .running: "Command="
        case .line(let pattern): "ReadyLine=\(String(decoding: pattern, as: UTF8.self))"
        case .path(let path): "ReadyPath=\(String(decoding: path, as: UTF8.self))"
        case .notification: "NotifyReady=yes"
        }
    }
}

extension SupervisedProcess {
    /// Wall clock: when it starts again, while it makes a pause.
    fileprivate func nextStart(at now: Moment) -> Int64? {
        stage == .backingOff ? deadline.map { now.realtime + $0 - now.monotonic } : nil
    }
}

extension SupervisedProcess.Outcome {
    /// `ended after 2s, exit 3`.
    var sentence: String {
        switch self {
        case .notStarted(let reason): "could not be started: \(reason)"
        case .ended(let exit, let ran): "\(exit?.sentence ?? "ended, how is unknown,") after \(SpanText.elapsed(ran))"
        }
    }
}

extension Exit {
    /// `exit 3`, `SIGKILL`.
    package var sentence: String {
        switch self {
        case .exited(let code): "exit \(code)"
        case .signaled(let number): LinuxSignal.name(number)
        }
    }
}
