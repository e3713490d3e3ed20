import CLinux
import Glibc

/// The process to start. Every byte string may hold any byte but NUL.
package struct SpawnSpecification: Sendable {
    /// The file to execute; not looked up in `PATH`.
    package var path: [UInt8]
    /// The arguments, the program's name first.
    package var arguments: [[UInt8]]
    /// `NAME=VALUE` each; the child gets no others.
    package var environment: [[UInt8]]
    /// Its working directory; `nil`: the daemon's.
    package var folder: [UInt8]?
    /// `descriptors[n]` becomes the child's descriptor n, so standard input, output and error first; it gets no other.
    /// At most 16. They stay the caller's.
    package var descriptors: [Int32]
    /// `nil`: the daemon's.
    package var umask: UInt32?
    /// Absolute; `nil`: that of the calling thread, which Dispatch may have changed.
    package var nice: Int32?
    /// `nil`: that of the calling thread.
    package var ioPriority: IOPriority?
    /// Its other attributes.
    package var attributes = ProcessAttributes()

    package init(
        path: [UInt8], arguments: [[UInt8]], environment: [[UInt8]] = [], folder: [UInt8]? = nil, descriptors: [Int32],
        umask: UInt32? = nil, nice: Int32? = nil, ioPriority: IOPriority? = nil
    ) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
        self.folder = folder
        self.descriptors = descriptors
        self.umask = umask
        self.nice = nice
        self.ioPriority = ioPriority
    }
}

/// A process that was started; its number is also that of its process group. Frozen, so that other targets may take the
/// descriptor out.
@frozen package struct SpawnedProcess: ~Copyable, Sendable {
    package let processID: Int32
    /// Readable when it has ended; to be waited for with `Linux.wait`.
    package let pidfd: FileDescriptor
}

/// A process that could not be started: at which step, and why.
package struct SpawnError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Step: Sendable {
        /// A byte string with a NUL in it.
        case arguments
        /// Making the process.
        case clone
        case processGroup
        /// Entering its cgroup.
        case controlGroup
        case oomScore, nice, ioPriority, policy, descriptors, limit
        /// Supplementary groups, group, user.
        case groups, groupID, userID
        case privileges, folder, execute
    }

    package let step: Step
    /// The step's C name and what it was about: `chdir /srv`, `execve /usr/bin/convert`.
    package let detail: String
    package let errno: Errno

    package init(step: Step, detail: String, errno: Errno) {
        self.step = step
        self.detail = detail
        self.errno = errno
    }

    package var description: String { "\(detail): \(errno)" }
}

extension Linux {
    /// Starts a process by the one spawn (`CLinux/spawn.c`); returns once it has executed its file, so it blocks as
    /// long as reading that file does. The child's signal mask is empty, every signal at its default, and it leads a
    /// process group of its own. A nice value or an I/O priority that the kernel refuses for want of a privilege is
    /// left as it is, unless `attributes` require it.
    package static func spawn(_ specification: SpawnSpecification) throws(SpawnError) -> SpawnedProcess {
        try check(specification)
        let arguments = CStrings(specification.arguments)
        let environment = CStrings(specification.environment)
        let paths = CStrings([specification.path, specification.folder ?? []])
        let attributes = specification.attributes
        var spawned = clinux_spawned()
        let result = specification.descriptors.withUnsafeBufferPointer { descriptors in
            var call = clinux_spawn_spec(
                path: paths[0], arguments: arguments.pointers, environment: environment.pointers,
                folder: specification.folder == nil ? nil : paths[1], descriptors: descriptors.baseAddress,
                descriptor_count: Int32(descriptors.count), control_group: attributes.controlGroup ?? -1,
                mask: specification.umask.map { Int32($0 & 0o777) } ?? -1,
                sets_nice: given(specification.nice != nil, attributes.requiresNice), nice: specification.nice ?? 0,
                sets_io_priority: given(specification.ioPriority != nil, attributes.requiresIOPriority),
                io_priority: specification.ioPriority?.rawValue ?? 0,
                sets_policy: attributes.policy == nil ? 0 : 1, policy: attributes.policy?.number ?? 0,
                policy_priority: attributes.policy?.priority ?? 0, oom_score: nil, limits: nil, limit_count: 0,
                sets_groups: 0, groups: nil, group_count: 0, sets_group: 0, group: 0, sets_user: 0, user: 0,
                has_no_new_privileges: attributes.hasNoNewPrivileges ? 1 : 0)
            return attributes.with(&call) { clinux_spawn(&$0, &spawned) }
        }
        if result != 0 { throw failure(spawned, specification) }
        return SpawnedProcess(processID: spawned.pid, pidfd: FileDescriptor(owning: spawned.pidfd))
    }

    private static func given(_ isGiven: Bool, _ isRequired: Bool) -> Int32 {
        isGiven ? Int32((isRequired ? CLINUX_SPAWN_REQUIRED : CLINUX_SPAWN_IF_ALLOWED)) : 0
    }

    private static func check(_ specification: SpawnSpecification) throws(SpawnError) {
        func refuse(_ detail: String) throws(SpawnError) {
            throw SpawnError(step: .arguments, detail: detail, errno: .invalidArgument)
        }
        if specification.arguments.isEmpty { try refuse("no arguments") }
        var strings = specification.arguments + specification.environment
        strings += [specification.path, specification.folder ?? []]
        if let bad = strings.first(where: { $0.contains(0) }) { try refuse("NUL in \(bad.printable)") }
    }

    private static func failure(_ spawned: clinux_spawned, _ specification: SpawnSpecification) -> SpawnError {
        let (step, detail): (SpawnError.Step, String) =
            switch UInt32(spawned.step) {
            case CLINUX_SPAWN_CLONE.rawValue: (.clone, "clone")
            case CLINUX_SPAWN_GROUP.rawValue: (.processGroup, "setpgid")
            case CLINUX_SPAWN_CONTROL_GROUP.rawValue: (.controlGroup, "write cgroup.procs")
            case CLINUX_SPAWN_OOM_SCORE.rawValue: (.oomScore, "oom_score_adj \(specification.attributes.oomScore ?? 0)")
            case CLINUX_SPAWN_POLICY.rawValue: (.policy, "sched_setscheduler")
            case CLINUX_SPAWN_LIMIT.rawValue:
                (.limit, "setrlimit \(specification.attributes.limits[Int(spawned.index)].name)")
            case CLINUX_SPAWN_GROUPS.rawValue: (.groups, "setgroups")
            case CLINUX_SPAWN_GROUP_ID.rawValue:
                (.groupID, "setresgid \(specification.attributes.identity?.group ?? 0)")
            case CLINUX_SPAWN_USER_ID.rawValue:
                (.userID, "setresuid \(specification.attributes.identity?.user ?? 0)")
            case CLINUX_SPAWN_PRIVILEGES.rawValue: (.privileges, "prctl PR_SET_NO_NEW_PRIVS")
            case CLINUX_SPAWN_NICE.rawValue: (.nice, "setpriority \(specification.nice ?? 0)")
            case CLINUX_SPAWN_IO_PRIORITY.rawValue: (.ioPriority, "ioprio_set")
            case CLINUX_SPAWN_FOLDER.rawValue: (.folder, "chdir \((specification.folder ?? []).printable)")
            case CLINUX_SPAWN_DESCRIPTORS.rawValue: (.descriptors, "dup3")
            default: (.execute, "execve \(specification.path.printable)")
            }
        return SpawnError(step: step, detail: detail, errno: Errno(spawned.error))
    }
}

/// C strings with a NULL behind the last, as `execve(2)` wants them; in one piece of memory each for text and pointers.
private struct CStrings: ~Copyable {
    let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let text: UnsafeMutablePointer<CChar>

    init(_ strings: [[UInt8]]) {
        pointers = .allocate(capacity: strings.count + 1)
        text = .allocate(capacity: max(1, strings.reduce(0) { $0 + $1.count + 1 }))
        var end = text
        for (index, string) in strings.enumerated() {
            (pointers + index).initialize(to: end)
            for byte in string {
                end.initialize(to: CChar(bitPattern: byte))
                end += 1
            }
            end.initialize(to: 0)
            end += 1
        }
        (pointers + strings.count).initialize(to: nil)
    }

    deinit {
        pointers.deallocate()
        text.deallocate()
    }

    /// One of the strings.
    subscript(index: Int) -> UnsafePointer<CChar> { UnsafePointer(pointers[index] ?? text) }
}
