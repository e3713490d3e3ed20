import CLinux

/// Attributes of a new process beside folder, descriptors and priority. By default all of them are inherited.
package struct ProcessAttributes: Sendable {
    /// `cgroup.procs` of the cgroup that it enters, open for writing; it stays the caller's.
    package var controlGroup: Int32?
    /// A nice value that is refused fails the spawn.
    package var requiresNice = false
    /// An I/O priority that is refused fails the spawn.
    package var requiresIOPriority = false
    /// `sched_setscheduler(2)`.
    package var policy: (number: Int32, priority: Int32)?
    /// `/proc/self/oom_score_adj`.
    package var oomScore: Int32?
    package var limits: [Limit] = []
    /// The user that it becomes once everything that needs a privilege is done.
    package var identity: Identity?
    /// PR_SET_NO_NEW_PRIVS.
    package var hasNoNewPrivileges = false

    /// User and groups of a process; `nil`: the daemon's.
    package struct Identity: Equatable, Sendable {
        /// `setresuid(2)`.
        package var user: UInt32?
        /// `setresgid(2)`.
        package var group: UInt32?
        /// `setgroups(2)`.
        package var groups: [UInt32]?

        package init(user: UInt32? = nil, group: UInt32? = nil, groups: [UInt32]? = nil) {
            self.user = user
            self.group = group
            self.groups = groups
        }
    }

    /// One of `setrlimit(2)`.
    package struct Limit: Sendable {
        /// As an error shows it.
        package var name: String
        /// RLIMIT_….
        package var resource: Int32
        package var soft: UInt64
        package var hard: UInt64

        package init(name: String, resource: Int32, soft: UInt64, hard: UInt64) {
            self.name = name
            self.resource = resource
            self.soft = soft
            self.hard = hard
        }
    }

    package init() {}

    /// Lends what stands in memory of its own.
    func with(_ call: inout clinux_spawn_spec, _ body: (inout clinux_spawn_spec) -> Int32) -> Int32 {
        call.sets_user = identity?.user == nil ? 0 : 1
        call.user = identity?.user ?? 0
        call.sets_group = identity?.group == nil ? 0 : 1
        call.group = identity?.group ?? 0
        guard let groups = identity?.groups else { return withLimits(&call, body) }
        return groups.withUnsafeBufferPointer { groups in
            call.sets_groups = 1
            call.groups = groups.baseAddress
            call.group_count = Int32(groups.count)
            return withLimits(&call, body)
        }
    }

    private func withLimits(_ call: inout clinux_spawn_spec, _ body: (inout clinux_spawn_spec) -> Int32) -> Int32 {
        if oomScore == nil, limits.isEmpty { return body(&call) }
        let rows = limits.map { clinux_limit(resource: $0.resource, soft: $0.soft, hard: $0.hard) }
        return rows.withUnsafeBufferPointer { rows in
            call.limits = rows.baseAddress
            call.limit_count = Int32(rows.count)
            guard let oomScore else { return body(&call) }
            return "\(oomScore)".withCString { text in
                call.oom_score = text
                return body(&call)
            }
        }
    }
}
