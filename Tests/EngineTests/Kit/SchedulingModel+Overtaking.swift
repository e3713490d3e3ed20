import WatchFile

@testable import Engine

/// At each start, no older operation that could have had its place was able to start.
///
/// The checks at the end of a batch do not see it: by then what the older one needed has been taken.
extension SchedulingModel {
    /// One that lacks nothing at this moment and should have come before `item` (`nil`: it was made in this batch).
    /// Where anything cannot be told from outside, nobody is accused.
    func overtaken(by request: StartRequest, _ item: Item?) -> Item? {
        items.values.first { other in
            guard other.id != request.run.operation, !other.hasStarted, let submitted = other.submitted,
                submitted < batch, item.map({ isBefore(other, $0) == true }) ?? true
            else { return false }
            return hasPrecedence(other, over: request) && lacksNothing(other)
        }
    }

    /// The older one's turn is first: on its queue by priority, among queues without targets by their QoS.
    private func hasPrecedence(_ other: Item, over request: StartRequest) -> Bool {
        guard let definition = handlers[other.view.handler] else { return false }
        if other.view.queue == request.queue {
            return isSerial(request.queue)
                || definition.constraints.priority >= request.definition.value.constraints.priority
        }
        guard isByItself(request.queue), isByItself(other.view.queue), definition.needsProcess,
            !isHurried(request.queue), !isHurried(other.view.queue),
            let mine = queues[request.queue]?.definition.qos, queues[other.view.queue]?.definition.qos == mine
        else { return false }
        return isFirstOfItsQueue(other) && mayStartOne(other.view.queue)
    }

    /// A caller waits for something of the queue, or may.
    private func isHurried(_ queue: String) -> Bool {
        isCallerWaiting || items.values.contains { $0.isAwaited && $0.view.queue == queue }
    }

    /// Without a target, and nobody's target: siblings take turns there.
    private func isByItself(_ queue: String) -> Bool {
        chain(queue).count == 1 && chains.values.count { $0.contains(queue) } == 1
    }

    /// Nobody else waits or runs there that could be preferred.
    private func isFirstOfItsQueue(_ other: Item) -> Bool {
        !newcomers.contains(other.view.queue)
            && items.values.allSatisfy {
                $0.id == other.id || $0.view.queue != other.view.queue || runs.keys.map(\.operation).contains($0.id)
            }
    }

    private func mayStartOne(_ queue: String) -> Bool {
        taken(queue) < width(queue) && queues[queue]?.suspensions.isEmpty == true
            && queuesBefore[queue]?.suspensions.isEmpty == true && queues[queue]?.definition.rateLimit == nil
    }

    private func lacksNothing(_ item: Item) -> Bool {
        guard let definition = handlers[item.view.handler], !definition.constraints.isBarrier,
            phase == .running || (phase == .reloading && !chain(item.view.queue).contains("main"))
        else { return false }
        let needs = needs(definition, hasConsumed: false)
        guard needs.allSatisfy({ free[$0.key, default: 0] >= $0.value }) else { return false }
        return items.values.allSatisfy { other in
            other.id == item.id || isBefore(item, other) == true && !other.hasStarted
                || !keepsWaiting(item, needs, other)
        }
    }

    /// Whether one that is older, or may be, can have a claim to what the other one needs.
    private func keepsWaiting(_ item: Item, _ needs: [String: Int], _ older: Item) -> Bool {
        guard let definition = handlers[older.view.handler] else { return true }
        if older.view.handler == item.view.handler, !older.keys.isDisjoint(with: item.keys) { return true }
        let places = Set(chain(older.view.queue)).intersection(chain(item.view.queue))
        if definition.constraints.isBarrier, !places.isEmpty { return true }
        if isSerial(item.view.queue), older.view.queue == item.view.queue { return true }
        return self.needs(definition, hasConsumed: false).keys.contains { needs[$0] != nil } && hasToStart(older)
    }
}
