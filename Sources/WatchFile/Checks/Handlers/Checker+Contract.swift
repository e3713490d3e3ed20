/// Keys of a process that mean something beside others only.
extension Checker {
    mutating func checkContract(_ entries: Entries) {
        if let entry = entries.entry("CPUSchedulingPriority"), !entry.isDefault, !entry.isUnreadable {
            let policy = entries["CPUSchedulingPolicy"]?.word.flatMap(CPUScheduling.Policy.init)
            if policy?.isRealTime != true {
                problems.error("CPUSchedulingPriority= needs CPUSchedulingPolicy=fifo or rr", at: entry.keyText)
            }
        }
        if let entry = entries.entry("IOSchedulingPriority"), !entry.isDefault, !entry.isUnreadable,
            let kind = entries["IOSchedulingClass"]?.word.flatMap(IOScheduling.Class.init),
            kind == .none || kind == .idle
        {
            problems.error(
                "IOSchedulingPriority= means nothing beside IOSchedulingClass=\(kind.rawValue)", at: entry.keyText)
        }
    }
}
