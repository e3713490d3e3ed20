package import Engine
package import EventSources
package import LinuxSystem
package import WatchFile

/// A process that an earlier watchd left running, as it is found in `/proc`.
package struct AdoptableProcess: Equatable, Sendable {
    package var run: RunID
    package var handler: String
    package var queue: String
    /// It is a copy (`run.part`) of a supervised process, which has neither handler nor queue.
    package var isSupervised: Bool
    /// It is a worker of a `Stream=` handler, whose run is no operation's.
    package var isWorker = false
    /// It is the `Command=` of a `[Descriptor]`, and no run.
    package var isCommand = false
    /// Name of the event's source, and its kind; other ends of a run than events of a source have one too.
    package var source: String
    package var kind: String
    package var pid: Int32
    /// Its user, in every respect.
    package var userID: UInt32
    /// Its cgroup says which run it is, which nobody else can make it say.
    package var isContained = false
    /// It is a service of its own (`RunIn=unit`), which may have ended; the service manager says which run it is.
    package var isService = false
    /// The members of semaphores that it was lent, by variable.
    package var acquired: [String: String] = [:]
    /// Wall clock, microseconds; as exact as the clock, and to the hundredth of a second.
    package var started: Int64

    /// Numbers that a run can have; what says another one of itself is none.
    private static let operations: ClosedRange<UInt64> = 0...1 << 60
    private static let attempts = 1...Int(Int32.max)
    private static let parts = 0...Int(Int32.max)
    private static let copies = 0..<100_000

    /// The process groups of runs of the watchd with this `WATCHD_INSTANCE` whose leader is not our child. One pass
    /// over `/proc`, which takes as long as there are processes: not on `watchd.core`.
    ///
    /// - Parameter patience: microseconds for which processes in an uninterruptible sleep are looked at again, all
    ///   together: one that starts another (`vfork(2)`), or that waits for a disk, wakes up soon, and to overlook it is
    ///   to run it twice.
    package static func all(
        instance: InstanceName, _ containment: Containment, patience: Int64 = 2_000_000
    ) throws(SystemError) -> [AdoptableProcess] {
        var found = containment.runs.flatMap { contained(in: $0.group, $0.run) }
        let known = Set(found.map(\.pid))
        let all = try Linux.readFolder("/proc").compactMap { Int32(String(decoding: $0.name, as: UTF8.self)) }
        var rest = all.filter { $0 != Linux.processID && !known.contains($0) }
        let begin = Linux.now(.monotonic)
        while true {
            var stuck: [Int32] = []
            for pid in rest {
                guard let place = place(ofLeader: pid) else { continue }
                if place.isStuck {
                    stuck.append(pid)
                } else if let process = AdoptableProcess(pid, place, instance: instance) {
                    found.append(process)
                }
            }
            rest = stuck
            if rest.isEmpty || Linux.now(.monotonic) - begin >= patience { break }
            _ = try? Linux.poll([], timeout: 5)
        }
        return found.sorted { $0.pid < $1.pid }
    }

    /// The place of a living process group's leader that is not our child. `nil`: it is none, or has a session of its
    /// own: then a handler has made it, not watchd.
    private static func place(ofLeader pid: Int32) -> ProcessPlace? {
        guard let place = Linux.place(of: pid), place.groupID == pid, place.sessionID != pid,
            place.parentID != Linux.processID, !place.isZombie
        else { return nil }
        return place
    }

    /// The leaders of process groups in the cgroup of a run: one of them is its first process. Their word about
    /// themselves counts only where it names the same run.
    private static func contained(in group: ControlGroup, _ run: RunID) -> [AdoptableProcess] {
        group.processes.compactMap { pid in
            guard let place = place(ofLeader: pid) else { return nil }
            if isAwake(pid, place), var process = AdoptableProcess(pid, place, variables(of: pid)), process.run == run {
                process.isContained = true
                return process
            }
            return AdoptableProcess(pid, place, contained: run)
        }
    }

    init(_ pid: Int32, _ place: ProcessPlace, contained run: RunID) {
        self.run = run
        (handler, queue, source, kind, isSupervised) = ("", "", "", "", false)
        (self.pid, userID, isContained) = (pid, Linux.effectiveUserID, true)
        started = Linux.now(.realtime) - Linux.now(.boottime) + place.started
    }

    init(service run: RunID, handler: String, queue: String, started: Int64) {
        (self.run, self.handler, self.queue, self.started) = (run, handler, queue, started)
        (source, kind, isSupervised, pid, userID) = ("", "", false, 0, Linux.effectiveUserID)
        (isContained, isService) = (true, true)
    }

    /// `nil`: it is no process of a run of this watchd. What it says of itself is believed only with the
    /// `WATCHD_INSTANCE` that others cannot know, and of one that is its user's in every respect: who starts a program
    /// that is set-user-ID gives it whatever environment he likes.
    init?(_ pid: Int32, _ place: ProcessPlace, instance: InstanceName) {
        guard let user = Linux.user(ofAll: pid), Self.isAwake(pid, place) else { return nil }
        let variables = Self.variables(of: pid)
        let name = instance.of(user: user)
        guard !name.isEmpty, variables.contains(Array("WATCHD_INSTANCE=\(name)".utf8)) else { return nil }
        self.init(pid, place, variables, user: user)
    }

    /// Whether its section, if there still is one, has processes of this user. A process of another user than watchd's
    /// is believed only what concerns a `User=` of its own.
    package func mayBe(of contract: ProcessContract?) -> Bool {
        if isContained || userID == Linux.effectiveUserID { return true }
        if let credentials = contract?.credentials { return credentials.user == userID }
        guard let user = contract?.user else { return false }
        if let number = UInt32(user) { return number == userID }
        return (try? Linux.userID(named: user)) == userID
    }

    /// Whether it is the process that was started for a run, as was noted then: of whatever user.
    package func isProcess(of run: StoredRun) -> Bool {
        run.part == self.run.part && run.pid == pid && Self.delays.contains(started - run.started)
    }

    /// Whether a process that has ended, and that its parent has not waited for, is of a run that was started then (wall
    /// clock, microseconds).
    package static func isZombie(_ pid: Int32, startedAt started: Int64) -> Bool {
        guard let place = Linux.place(of: pid), place.isZombie else { return false }
        return isLeader(pid, place, startedAt: started)
    }

    /// Whether the process that was started for a run then (wall clock, microseconds) is there.
    package static func isAlive(_ pid: Int32, startedAt started: Int64?) -> Bool {
        guard pid > 0, let started, let place = Linux.place(of: pid), place.groupID == pid, !place.isZombie else {
            return false
        }
        return delays.contains(Linux.now(.realtime) - Linux.now(.boottime) + place.started - started)
    }

    /// Whether a process whose environment cannot be read leads the group of a run that was started then: by its number,
    /// its user and the time of its start. Where the clock was set since, it is not known again.
    static func isLeader(_ pid: Int32, _ place: ProcessPlace, startedAt started: Int64) -> Bool {
        guard place.groupID == pid, Linux.isEntirely(pid, of: Linux.effectiveUserID) else { return false }
        return delays.contains(Linux.now(.realtime) - Linux.now(.boottime) + place.started - started)
    }

    /// Microseconds between the start of a process, in ticks of a hundredth of a second, and what was noted: a start may
    /// have waited for its turn.
    private static let delays: ClosedRange<Int64> = -1_000_000...10_000_000

    /// Whether its memory may be looked at. One that starts another (`vfork(2)`) sleeps uninterruptibly for a moment;
    /// one that hangs on a disk does so for ever, and who looks at it may hang with it.
    private static func isAwake(_ pid: Int32, _ place: ProcessPlace) -> Bool {
        var place = place
        for _ in 0..<50 {
            if !place.isStuck { return true }
            _ = try? Linux.poll([], timeout: 1)
            guard let now = Linux.place(of: pid) else { return false }
            place = now
        }
        return false
    }

    /// For a moment a process that becomes another program (`execve(2)`) has none: that is looked at again.
    private static func variables(of pid: Int32) -> [[UInt8]] {
        for _ in 0..<100 {
            if let variables = Linux.environment(of: pid, prefix: "WATCHD_") { return variables }
        }
        return []
    }

    /// `nil`: it does not say which run it is.
    init?(_ pid: Int32, _ place: ProcessPlace, _ variables: [[UInt8]], user: UInt32 = Linux.effectiveUserID) {
        func value(_ name: String) -> String? {
            let prefix = Array("WATCHD_\(name)=".utf8)
            return variables.first { $0.starts(with: prefix) }
                .map { String(decoding: $0.dropFirst(prefix.count), as: UTF8.self) }
        }
        self.pid = pid
        userID = user
        started = Linux.now(.realtime) - Linux.now(.boottime) + place.started
        if let command = value("COMMAND") {
            run = RunID(operation: 0, attempt: 1)
            (handler, queue, source, kind) = ("", "", command, SourceKind.descriptor.rawValue)
            (isSupervised, isCommand) = (false, true)
            return
        }
        let worker = value("WORKER")
        guard let operation = (worker ?? value("OPERATION")).flatMap({ UInt64($0) }),
            Self.operations.contains(operation),
            let attempt = Int(worker == nil ? value("ATTEMPT") ?? "" : "1"), Self.attempts.contains(attempt),
            let part = Int(value("PART") ?? "0")
        else { return nil }
        isWorker = worker != nil
        let (handler, queue) = (value("HANDLER"), value("QUEUE"))
        isSupervised = handler == nil && queue == nil && value("KIND") == SourceKind.process.rawValue
        guard isSupervised ? Self.copies.contains(part) : handler != nil && Self.parts.contains(part),
            isSupervised || isWorker || queue != nil
        else { return nil }
        run = RunID(operation: operation, attempt: attempt, part: part)
        self.handler = handler ?? ""
        self.queue = queue ?? ""
        (source, kind) = (value("SOURCE") ?? "", value("KIND") ?? "")
        for variable in variables where variable.starts(with: SemaphoreDefinition.variablePrefix.utf8) {
            let parts = String(decoding: variable, as: UTF8.self).split(separator: "=", maxSplits: 1)
            if parts.count == 2 { acquired[String(parts[0])] = String(parts[1]) }
        }
    }
}
