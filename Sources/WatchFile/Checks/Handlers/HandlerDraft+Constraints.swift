import Schedule

extension HandlerDraft {
    /// Keys that name semaphores.
    static let semaphoreKeys = ["Acquire", "Release", "Consume"]

    var constraints: StartConstraints {
        var result = StartConstraints()
        result.isBarrier = entries["Barrier"]?.flag ?? result.isBarrier
        result.priority = entries["Priority"]?.word.flatMap(OperationPriority.init) ?? result.priority
        result.acquires = semaphores("Acquire")
        result.releases = semaphores("Release")
        result.consumes = semaphores("Consume")
        result.after = names("After", of: dependencies)
        result.afterProcesses =
            processes.map { String($0.name.string.dropFirst(Self.processPrefix.count)) }.withoutRepeats
        result.requires = names("Requires", of: dependencies)
        result.delay = entries["DelaySec"]?.span ?? result.delay
        if result.delay > .zero { result.batchSize = entries["BatchSize"]?.number }
        if case .mail = action { result.digest = entries["DigestSec"]?.span ?? result.digest }
        result.once = entries["Once"]?.word.flatMap(Once.init)
        result.startTimeout = entries["StartTimeoutSec"]?.span ?? result.startTimeout
        return result
    }

    var patience: Patience {
        var result = Patience()
        result.late = entries["LateSec"]?.span ?? result.late
        result.slow = entries["SlowSec"]?.span ?? result.slow
        return result
    }

    var retry: RetryPolicy {
        var result = RetryPolicy(preventExitStatus: exitStatuses("RetryPreventExitStatus"))
        if let limit = entries["Retry"]?.limit { result.limit = limit }
        result.delay = entries["RetrySec"]?.span ?? result.delay
        result.maxDelay = entries["RetryMaxSec"]?.span ?? max(result.maxDelay, result.delay)
        return result
    }

    /// Each semaphore once, with the sum of its counts.
    private func semaphores(_ key: String) -> [SemaphoreCount] {
        var result: [SemaphoreCount] = []
        var indices: [String: Int] = [:]
        for count in entries.counts(key) {
            if let index = indices[count.name.string] {
                result[index].count += count.count
            } else {
                indices[count.name.string] = result.count
                result.append(SemaphoreCount(name: count.name.string, count: count.count))
            }
        }
        return result
    }
}
