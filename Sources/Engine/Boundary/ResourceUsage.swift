/// The resources that the processes of a run have used together, and what else is known of them besides their end. A
/// member that is `nil` was not counted.
package struct ResourceUsage: Equatable, HasInitialValue, Sendable {
    static let initial = ResourceUsage()

    /// Counted of the first process of a command and of those that were waited for; else of all, by their cgroup.
    package var isOfProcess = false
    /// Bytes of memory at its highest.
    package var peakMemory: UInt64?
    /// Microseconds of processors.
    package var processorTime: UInt64?
    /// Bytes from and to block devices.
    package var bytesRead: UInt64?
    package var bytesWritten: UInt64?
    /// A later watchd has found the run: what it had written before is in the log only.
    package var lacksBeginning = false
    /// Processes that were left running at its end, as `KillMode=` says.
    package var leftProcesses = 0
    /// With `RunIn=unit`.
    package var service: RunService?

    package init() {}

    package var isKnown: Bool { self != ResourceUsage() }

    package func leaving(_ processes: Int) -> ResourceUsage {
        var usage = self
        usage.leftProcesses = processes
        return usage
    }

    /// Something was counted.
    package var isCounted: Bool {
        [peakMemory, processorTime, bytesRead, bytesWritten].contains { $0 != nil } || isOfProcess
    }

    /// Of one command, or part, behind the other: the memory is that of the largest.
    package mutating func add(_ later: ResourceUsage) {
        func sum(_ left: UInt64?, _ right: UInt64?) -> UInt64? {
            guard let left, let right else { return left ?? right }
            return left &+ right
        }
        isOfProcess = isOfProcess || later.isOfProcess
        peakMemory = [peakMemory, later.peakMemory].compactMap { $0 }.max()
        processorTime = sum(processorTime, later.processorTime)
        bytesRead = sum(bytesRead, later.bytesRead)
        bytesWritten = sum(bytesWritten, later.bytesWritten)
        lacksBeginning = lacksBeginning || later.lacksBeginning
        leftProcesses += later.leftProcesses
        service = later.service ?? service
    }
}

/// The service of the system's manager that a run is.
package struct RunService: Equatable, Sendable {
    package var unit: String
    /// 32 hexadecimal digits, as `_SYSTEMD_INVOCATION_ID` in the journal; empty: not known.
    package var invocation: String
    /// The end of its process by the wall clock, microseconds; `nil`: it has not ended, or the manager does not say when.
    package var ended: Int64?

    package init(unit: String, invocation: String, ended: Int64? = nil) {
        (self.unit, self.invocation, self.ended) = (unit, invocation, ended)
    }
}
