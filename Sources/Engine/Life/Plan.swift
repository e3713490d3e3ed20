package import WatchFile

extension Engine {
    /// The changes that a reload of this configuration would make; nothing changes yet.
    package func plan(_ configuration: Configuration) -> ConfigurationChange {
        var trial = self
        trial.actions = []
        var change = trial.apply(configuration)
        let touched = Set(change.added + change.changed + change.removed)
        let all =
            configuration.queues.map { "queue/\($0.name)" } + configuration.semaphores.map { "semaphore/\($0.name)" }
            + configuration.handlers.map { "handler/\($0.name)" } + configuration.sources.map(\.id.description)
        change.kept = all.filter { !touched.contains($0) }
        change.warnings = queues.indices.compactMap { warning(queue: $0, change.removed) }
        change.warnings += sources.indices.compactMap { warning(source: $0, change.removed, configuration) }
        change.warnings += handlers.indices.compactMap { warning(handler: $0, change.removed, trial) }
        return change
    }

    private func warning(queue: Int, _ removed: [String]) -> String? {
        let name = "queue/\(queues[queue].definition.name)"
        guard removed.contains(name) else { return nil }
        if queues[queue].isEmpty { return Self.comesBack(name, queues[queue].suspensions) }
        let count = queues[queue].waiting + queues[queue].running
        return queues[queue].isSuspended
            ? "\(name) is suspended and keeps its \(counted(count, "operation")) until resume or cancel"
            : "\(name) is removed at the end of its \(counted(count, "operation"))"
    }

    private func warning(source: Int, _ removed: [String], _ configuration: Configuration) -> String? {
        let name = sources[source].origin.description
        guard removed.contains(name), sources[source].isSuspended else { return nil }
        let count = sources[source].held.events.reduce(0) { $0 + $1.count }
        if count > 0 { return "\(name) is suspended and holds \(counted(count, "event")) until it is resumed" }
        guard case .descriptor(let trigger)? = sources[source].definition?.value.trigger else {
            return Self.comesBack(name, sources[source].suspensions)
        }
        let goesOn = configuration.sources.contains { other in
            if case .descriptor(let new) = other.trigger { new.listener == trigger.listener } else { false }
        }
        return goesOn ? nil : "\(name) is suspended, and what nobody has read of it is lost"
    }

    private static func comesBack(_ name: String, _ suspensions: [Suspension]) -> String? {
        suspensions.contains { $0.isMade } ? "\(name) is suspended, also when it comes back, until resume" : nil
    }

    private func warning(handler: Int, _ removed: [String], _ trial: Engine) -> String? {
        let name = "handler/\(handlers[handler].name)"
        guard removed.contains(name) else { return nil }
        if handlers[handler].operations == 0 {
            return trial.isAwaited(handler: handlers[handler].name)
                ? "\(name) is removed when no operation can start it any more (On…=)" : nil
        }
        return "\(name) is removed at the end of its \(counted(handlers[handler].operations, "operation"))"
    }
}
