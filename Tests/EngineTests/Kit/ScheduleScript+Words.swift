import Schedule
import WatchFile

@testable import Engine

extension ScheduleScript: CustomStringConvertible {
    /// The configuration in one line for each section, then the inputs.
    var description: String {
        (Self.words(configuration) + steps.map { "- \($0)" }).joined(separator: "\n")
    }

    fileprivate static func words(_ configuration: Configuration) -> [String] {
        let used = Set(configuration.sources.flatMap(\.routes).map(\.queue))
            .union(configuration.handlers.compactMap(\.queue)).union(configuration.queues.compactMap(\.target))
        return ["MaxProcesses=\(configuration.settings.maxProcesses)"]
            + configuration.queues.filter { used.contains($0.name) }.map(words)
            + configuration.semaphores.map { "semaphore \($0.name) Value=\($0.value)" }
            + configuration.handlers.map(words) + configuration.sources.map(words)
    }

    private static func words(_ queue: QueueDefinition) -> String {
        var words = ["queue \(queue.name)"]
        if case .concurrent(let width) = queue.kind { words.append("Width=\(width)") } else { words.append("serial") }
        if let target = queue.target { words.append("Target=\(target)") }
        if queue.qos != .default { words.append("QoS=\(queue.qos.rawValue)") }
        if let rate = queue.rateLimit { words.append("RateLimit=\(rate.count)/\(rate.span)") }
        if queue.isSuspended { words.append("Suspended=yes") }
        if let finalizer = queue.finalizer { words.append("Finalizer=\(finalizer)") }
        return words.joined(separator: " ")
    }

    private static func words(_ handler: HandlerDefinition) -> String {
        let constraints = handler.constraints
        var words = ["handler \(handler.name)"]
        if case .log = handler.action { words.append("Log=") }
        if let queue = handler.queue { words.append("Queue=\(queue)") }
        if let overlap = handler.overlap { words.append("Overlap=\(overlap.rawValue)") }
        if constraints.isBarrier { words.append("Barrier=yes") }
        if constraints.priority != .normal { words.append("Priority=\(constraints.priority.rawValue)") }
        for (key, shares) in [
            ("Acquire", constraints.acquires), ("Release", constraints.releases), ("Consume", constraints.consumes),
        ] where !shares.isEmpty {
            words.append("\(key)=" + shares.map { "\($0.name):\($0.count)" }.joined(separator: " "))
        }
        if !constraints.after.isEmpty { words.append("After=" + constraints.after.joined(separator: " ")) }
        if !constraints.requires.isEmpty { words.append("Requires=" + constraints.requires.joined(separator: " ")) }
        if constraints.delay != .zero { words.append("DelaySec=\(constraints.delay)") }
        if let once = constraints.once { words.append("Once=\(once.rawValue)") }
        if constraints.startTimeout != .infinity { words.append("StartTimeoutSec=\(constraints.startTimeout)") }
        if let stride = handler.stride { words.append("Stride=\(stride)") }
        if handler.retry.limit != 0 {
            words.append("Retry=\(handler.retry.limit ?? -1) RetrySec=\(handler.retry.delay)")
        }
        if !handler.completions.all.isEmpty { words.append("completions: \(handler.completions.all)") }
        return words.joined(separator: " ")
    }

    private static func words(_ source: SourceDefinition) -> String {
        let routes = source.routes.map { "\($0.handler) on \($0.queue)" }.joined(separator: ", ")
        var words = [
            "\(source.id) to \(routes), Key=\(source.key == .handler ? "" : source.key == .none ? "none" : "%{line}")"
        ]
        if !source.coalesces { words.append("Coalesce=no") }
        if let rate = source.rateLimit { words.append("RateLimit=\(rate.count)/\(rate.span)") }
        if case .group(let group) = source.trigger { words.append("Members=" + group.members.joined(separator: " ")) }
        return words.joined(separator: " ")
    }
}

extension ScheduleScript.Step: CustomStringConvertible {
    var description: String {
        switch self {
        case .line(let source, let text): "line \(text) to \(source)"
        case .emit(let data): "emit x \(data)"
        case .end(let number, let exit): "run #\(number) ends: \(exit.map { "\($0)" } ?? "unknown")"
        case .failToStart(let number): "run #\(number) cannot be started"
        case .skip(let number): "a condition of run #\(number) does not hold"
        case .advance(let seconds): "\(seconds) s pass"
        case .run(let name): "run \(name)"
        case .cancel(let number): "cancel operation #\(number)"
        case .cancelQueue(let name): "cancel all of queue \(name)"
        case .suspend(let name): "suspend \(name)"
        case .resume(let name): "resume \(name)"
        case .signal(let name, let count): "signal \(name) \(count)"
        case .enter: "enter g"
        case .leave: "leave g"
        case .wait(let name, let seconds): "wait for \(name), \(seconds) s"
        case .waitForOperation(let number): "wait for operation #\(number)"
        case .reload(let configuration):
            "reload:\n" + ScheduleScript.words(configuration).map { "    " + $0 }.joined(separator: "\n")
        case .drain: "stop"
        }
    }
}
