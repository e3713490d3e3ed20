package import Engine
import LinuxSystem
import Schedule
package import WatchFile

/// A source of the rim. It belongs to one context, tells what it sees through its environment, and is done after
/// `close`.
package protocol EventSource: AnyObject {
    /// Tries to arm it, and says so with `Input.source`, now or as soon as that is known. A failed opening is tried
    /// again.
    func open()
    func close()
    /// The same; then `left`, when everything that it told is consumed where it came from.
    func close(then left: @escaping () -> Void)
    /// Takes in no more, without losing anything, until `release`.
    func hold()
    func release()
    /// Holds until the daemon exits. Descriptors in the service manager's store pass to the next daemon; all others are
    /// closed.
    func rest()
    /// `SourceEnvironment.position` knows from here on what it did not before.
    func positionsCame()
    /// inotify watches it has.
    var watchCount: Int { get }
    /// Descriptors that it keeps open for itself.
    var descriptorCount: Int { get }
    /// Processes of others whose end it waits for.
    var processIDs: [Int32] { get }
    /// All its connections are open; `nil`: there is room for more, or it is none that has any.
    var connectionLimit: ConnectionLimit? { get }
    /// The descriptor it takes out of the store when that can be opened, which may be later than `open`.
    var keptName: KeptDescriptor? { get }
}

extension EventSource {
    package var watchCount: Int { 0 }
    package var descriptorCount: Int { 0 }
    package var processIDs: [Int32] { [] }
    package var connectionLimit: ConnectionLimit? { nil }
    package var keptName: KeptDescriptor? { nil }

    package func rest() { hold() }

    package func positionsCame() {}

    package func close(then left: @escaping () -> Void) {
        close()
        left()
    }
}

/// The environment that sources share.
package struct SourceEnvironment {
    package let core: Context
    /// For work that may block, as listing a folder.
    package let slow: Lanes
    /// To be asked before a path is touched on the core.
    let probes: PathProbes
    package let epoll: EpollSet
    package let inotify: InotifyHub
    /// Calls back on the core when everything that was told so far is safely stored, in the order of the calls; at once
    /// where nothing is stored.
    package let whenSafe: (@escaping () -> Void) -> Void
    /// A descriptor is to be put into the service manager's store under this name. It stays the source's: to be
    /// duplicated before this returns.
    package let keep: (KeptDescriptor, Int32) -> Void
    /// The descriptor kept under this name is not wanted any more.
    package let forget: (KeptDescriptor) -> Void
    /// How far a source had read when it was told with `Input.lines` last, by an earlier daemon too.
    package let position: (SourceID) -> [UInt8]?
    /// Why that is not known yet: the store cannot be opened.
    package let positionsMissing: () -> String?
    /// Makes a source of systemd units; `nil`: there is nothing that could tell of them.
    package let unitSource: (SourceID, UnitTrigger) -> (any EventSource)?
    /// Snapshots of what path sources have handled; `nil`: none are kept.
    package let snapshots: (any PathSnapshotStore)?
    let handled: HandledPaths?
    /// Files and folders that watchd writes itself, without links.
    let ownPaths: [[UInt8]]
    /// The comparison of a source, a sentence; `nil`: it compares nothing any more.
    let comparing: (SourceID, String?) -> Void
    let untaken: UntakenNotes
    /// Where watchd itself writes: no tree holds them.
    let ownFolders: Set<[UInt8]>
    /// Descriptors on their way to a handler.
    package let handovers: Handovers
    /// By it a later watchd finds processes of sources.
    let instance: () -> InstanceName
    /// Processes of sources.
    let commands = RunningCommands()
    /// Connections that would outlive the daemon.
    let connections: KeptConnections
    /// A line for the log about a source.
    package let log: (SourceID, [UInt8]) -> Void
    /// A warning about a source.
    let warn: (SourceID, String) -> Void
    /// Why a source, armed, sees less than it is asked to, from now on until it is closed; `nil`: it does not any more.
    let limited: (SourceID, SourceLimit?) -> Void
    /// The buffer of all reads.
    let buffer = ReadBuffer()
    /// Gives an input to the engine.
    package let send: (Input) -> Void

    package init(
        core: Context, slow: Lanes, probes: PathProbes, epoll: EpollSet, inotify: InotifyHub,
        whenSafe: @escaping (@escaping () -> Void) -> Void = { $0() },
        keep: @escaping (KeptDescriptor, Int32) -> Void = { _, _ in },
        forget: @escaping (KeptDescriptor) -> Void = { _ in }, keepsConnections: Int = KeptConnections.limit,
        handovers: Handovers = Handovers(), instance: @escaping () -> InstanceName = { .none },
        position: @escaping (SourceID) -> [UInt8]? = { _ in nil },
        positionsMissing: @escaping () -> String? = { nil },
        snapshots: (any PathSnapshotStore)? = nil, handled: HandledPaths? = nil, ownPaths: [[UInt8]] = [],
        comparing: @escaping (SourceID, String?) -> Void = { _, _ in },
        log: @escaping (SourceID, [UInt8]) -> Void = { _, _ in },
        warn: @escaping (SourceID, String) -> Void = { _, _ in },
        limited: @escaping (SourceID, SourceLimit?) -> Void = { _, _ in },
        unitSource: @escaping (SourceID, UnitTrigger) -> (any EventSource)? = { _, _ in nil },
        ownFolders: Set<[UInt8]> = [],
        send: @escaping (Input) -> Void
    ) {
        self.core = core
        self.slow = slow
        self.probes = probes
        self.epoll = epoll
        self.inotify = inotify
        self.whenSafe = whenSafe
        self.keep = keep
        self.forget = forget
        connections = KeptConnections(limit: keepsConnections)
        self.handovers = handovers
        self.instance = instance
        self.position = position
        self.positionsMissing = positionsMissing
        self.snapshots = snapshots
        self.handled = handled
        self.ownPaths = ownPaths
        self.comparing = comparing
        untaken = UntakenNotes(position: position, positionsMissing: positionsMissing)
        self.log = log
        self.warn = warn
        self.limited = limited
        self.unitSource = unitSource
        self.ownFolders = ownFolders
        self.send = send
    }
}

extension SourceEnvironment {
    /// Reads lines of a descriptor and tells them.
    func reader(
        _ id: SourceID, _ maker: LineMaker, ended: @escaping () -> Void, failed: @escaping (SystemError) -> Void
    ) -> HeldDescriptor<LineFact> {
        HeldDescriptor(on: core, epoll: epoll) { [buffer] number throws(SystemError) in
            try buffer.read(number, maker)
        } tell: {
            tell(id, $0)
        } ended: {
            ended()
        } failed: {
            failed($0)
        }
    }

    /// An item of a durable descriptor, with the note of the items that are not taken out of it.
    func tell(_ id: SourceID, _ fact: LineFact, _ isRepeated: Bool, _ untaken: UntakenBytes?) {
        var fact = fact
        fact.isRepeated = isRepeated
        untaken?.tells()
        send(.lines(id, [fact], position: untaken?.note))
    }

    /// Facts that came at once.
    func tell(_ id: SourceID, _ facts: [LineFact]) {
        if facts.count == 1 { send(.event(id, .line(facts[0]))) } else if !facts.isEmpty { send(.lines(id, facts)) }
    }
}

/// Tries again after 1 s, doubling to 1 min, or to less where a try costs next to nothing. Confined to the context of
/// who has it.
package struct Retry {
    private let first: Int
    private let longest: Int
    private var delay: Int
    private var attempt = Attempt()

    /// Microseconds: of the first pause between two tries, and of the longest.
    package init(first: Int = 1_000_000, longest: Int = 60_000_000) {
        (self.first, self.longest) = (first, longest)
        delay = first
    }

    private final class Attempt {
        var isCancelled = false
        var isPending = false

        func happen(_ work: () -> Void) {
            isPending = false
            if !isCancelled { work() }
        }
    }

    /// The scheduled attempt has not happened yet.
    package var isPending: Bool { attempt.isPending && !attempt.isCancelled }

    /// `1s`, for messages: the delay that `schedule` took last.
    package private(set) var description = "1s"

    /// Of `schedule`: wall clock, microseconds.
    private var nextTry: Int64?

    /// Only the newest attempt happens.
    package mutating func schedule(on context: Context, _ work: @escaping () -> Void) {
        schedule(on: context) { attempt in attempt.happen(work) }
    }

    /// The same, when these paths of a source answer. While they do not, the source says so.
    mutating func schedule(
        _ id: SourceID, _ paths: [[UInt8]], _ environment: SourceEnvironment, _ work: @escaping () -> Void
    ) {
        schedule(on: environment.core) { attempt in
            environment.probes.whenAnswered(paths) { reason in
                if !attempt.isCancelled { environment.send(.source(id, .failed(reason))) }
            } then: {
                attempt.happen(work)
            }
        }
    }

    private mutating func schedule(on context: Context, due: @escaping (Attempt) -> Void) {
        attempt.isCancelled = true
        let current = Attempt()
        current.isPending = true
        attempt = current
        description = SpanText.remaining(Int64(delay))
        nextTry = Linux.now(.realtime) + Int64(delay)
        let bound = QueueBound((current, due), to: context)
        context.after(delay) {
            let (attempt, due) = bound.value
            if attempt.isCancelled { attempt.isPending = false } else { due(attempt) }
        }
        delay = min(2 * delay, longest)
    }

    /// It failed for this reason (a sentence), and what `schedule` took last is its next try.
    package func condition(_ reason: String) -> SourceCondition { .failed(reason, retryAt: nextTry) }

    /// A condition that a run, or several, have left as it was, and what `schedule` took last is the next look at it.
    package func unchanged(after runs: Int) -> SourceCondition {
        .waiting("unchanged after \(runs == 1 ? "1 run" : "\(runs) runs"); looking again in \(description)")
    }

    package mutating func reset() { delay = first }

    package mutating func cancel() { attempt.isCancelled = true }
}
