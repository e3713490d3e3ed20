import WatchFile

/// A program's queues, semaphores and groups as a watch file: a way to submit is a custom source with a handler of its
/// own, and its data says which block is meant. `Key=none`: only the queues exclude anything.
extension DispatchProgram {
    /// More than ever run at once.
    private static let wide = 1_000

    func configuration(_ fault: EngineSide.Fault?) -> Configuration {
        let builtIn = QueueDefinition.builtInNames.map { name in
            QueueDefinition(name: name, kind: name == "main" ? .serial : .concurrent(width: Self.wide))
        }
        let names = names
        let told = (0..<groups).map { "told\($0)" }
        return Configuration(
            settings: DaemonSettings(maxProcesses: Self.wide), queues: builtIn + queues.map { queue($0, fault) },
            semaphores: semaphores.enumerated().map { SemaphoreDefinition(name: "s\($0)", value: $1) },
            handlers: names.map { handler($1, $0, fault) } + [command("nobody")]
                + told.map { HandlerDefinition(name: $0, action: .log(Template(literal: "empty"))) },
            sources: names.map { source(.custom, $1, queues[$0.queue].name, .custom(CustomTrigger()), handler: $1) }
                + told.enumerated().map { group($0, names, fault, handler: $1) })
    }

    private func queue(_ queue: Queue, _ fault: EngineSide.Fault?) -> QueueDefinition {
        let serial = fault == .serialQueueIsWide ? QueueDefinition.Kind.concurrent(width: 2) : .serial
        return QueueDefinition(
            name: queue.name, kind: queue.isConcurrent ? .concurrent(width: Self.wide) : serial,
            target: fault == .targetIsNone ? nil : queue.target.map { queues[$0].name })
    }

    private func command(_ name: String) -> HandlerDefinition {
        let command = Command(words: [.template(Template(literal: "/bin/true"))])
        return HandlerDefinition(name: name, action: .exec([command]))
    }

    private func handler(_ name: String, _ submission: Submission, _ fault: EngineSide.Fault?) -> HandlerDefinition {
        var handler = command(name)
        handler.constraints.isBarrier = submission.isBarrier && fault != .barrierIsNone
        guard let semaphore = submission.semaphore, fault != .semaphoreIsFree else { return handler }
        let one = [SemaphoreCount(name: "s\(semaphore)")]
        if submission.isConsuming || fault == .semaphoreIsNotGivenBack {
            handler.constraints.consumes = one
        } else {
            handler.constraints.acquires = one
        }
        return handler
    }

    private func group(
        _ group: Int, _ names: [Submission: String], _ fault: EngineSide.Fault?, handler: String
    ) -> SourceDefinition {
        let members = names.filter { $0.key.group == group }.values.sorted()
        let kept = fault == .groupForgetsAMember ? Array(members.dropFirst()) : members
        return source(
            .group, "g\(group)", "default", .group(GroupTrigger(members: kept + ["nobody"])), handler: handler)
    }

    private func source(
        _ kind: SourceKind, _ name: String, _ queue: String, _ trigger: Trigger, handler: String
    ) -> SourceDefinition {
        SourceDefinition(
            id: SourceID(kind, name), routes: [Route(handler: handler, queue: queue)], key: .none, coalesces: false,
            trigger: trigger)
    }
}
