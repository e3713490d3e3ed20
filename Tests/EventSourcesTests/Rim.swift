import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import WatchFile

@testable import EventSources

/// What sources need, and what they say.
final class Rim: Sendable {
    let core: Context
    let parts: QueueBound<RimParts>
    private let said: RimNotes
    /// A test that fails may leave one open.
    private static let sources = Mutex<[QueueBound<any EventSource>]>([])

    /// - Parameters:
    ///   - inotify: a descriptor to be adopted.
    ///   - probe: returns when the path has answered.
    init(
        adopting inotify: Int32? = nil, isCommittedByHand: Bool = false, position: [UInt8]? = nil,
        positionsMissing: @escaping @Sendable () -> String? = { nil },
        snapshots: MemorySnapshots? = nil, ownPaths: [[UInt8]] = [], keepsConnections: Int = KeptConnections.limit,
        limit: WatchLimit = .share(100),
        probe: @escaping @Sendable ([UInt8]) -> Void = { Linux.waitForAnswer(of: $0) }
    ) throws {
        let core = Context("test.core")
        let said = RimNotes()
        self.core = core
        self.said = said
        parts = try core.queue.sync {
            let hub = InotifyHub(on: core, adopting: inotify.map { FileDescriptor(owning: $0) }, limit: limit)
            hub.trail = { said.trail($0) }
            let epoll = try EpollSet(on: core)
            let safety = Safety(isByHand: isCommittedByHand)
            let slow = Lanes(core: core, name: "test.slow", count: 2)
            hub.slow = slow
            let handled = snapshots.map { HandledPaths($0, core: core, slow: slow, hub: hub) }
            let environment = SourceEnvironment(
                core: core, slow: slow, probes: PathProbes(core: core, lanes: slow, probe: probe), epoll: epoll,
                inotify: hub, whenSafe: safety.whenSafe,
                keep: { name, number in said.keep(name, number) }, forget: { name in said.forget(name) },
                keepsConnections: keepsConnections,
                position: { _ in positionsMissing() == nil ? said.positions.withLock { $0.last } ?? position : nil },
                positionsMissing: positionsMissing, snapshots: snapshots, handled: handled, ownPaths: ownPaths,
                comparing: { _, text in said.comparisons.withLock { $0.append(text) } },
                warn: { _, sentence in said.warnings.withLock { $0.append(sentence) } },
                limited: { _, limit in said.limits.withLock { $0.append(limit?.text) } }
            ) { input in
                if case .change(_, let fact, _) = input { snapshots?.noteTold(fact) }
                said.note(input)
                safety.told(input)
            }
            return QueueBound(RimParts(environment: environment, safety: safety), to: core)
        }
    }

    /// A user has 128 inotify instances.
    deinit { core.async { [parts] in parts.value.environment.inotify.close() } }

    /// Runs `body` on the core with a source of its own, then `then` elsewhere, and closes the source in the end.
    static func with(
        _ make: (SourceID, SourceEnvironment) -> any EventSource,
        then: (Rim, QueueBound<any EventSource>) throws -> Void
    ) throws {
        let rim = try Rim()
        let source = rim.open(make)
        defer {
            rim.core.queue.sync {
                source.value.close()
                rim.parts.value.environment.epoll.cancel()
            }
        }
        try then(rim, source)
    }

    /// Runs `body` beside a set that has the source `descriptor/d`, which is closed in the end.
    ///
    /// - Parameter passed: what the service manager has passed, by name.
    static func with(
        _ trigger: DescriptorTrigger, passed: [String: [Int32]] = [:], _ body: (Rim) throws -> Void
    ) throws {
        let definition = SourceDefinition(
            id: SourceID(.descriptor, "d"), routes: [], trigger: .descriptor(trigger))
        let rim = try Rim()
        let set = try rim.core.queue.sync {
            let set = try SourceSet(
                rim.parts.value.environment, passed: PassedDescriptors(passed), ownSignals: []
            ) { _ in }
            set.open(definition)
            return QueueBound(set, to: rim.core)
        }
        defer { rim.core.queue.sync { set.value.close(definition.id) } }
        try body(rim)
    }

    /// Makes a source and opens it.
    func open(_ make: (SourceID, SourceEnvironment) -> any EventSource) -> QueueBound<any EventSource> {
        core.queue.sync {
            let source = make(SourceID(.path, "test"), parts.value.environment)
            source.open()
            let bound = QueueBound(source, to: core)
            Self.sources.withLock { $0.append(bound) }
            return bound
        }
    }

    func on<Value>(_ source: QueueBound<any EventSource>, _ body: (any EventSource) -> Value) -> Value {
        core.queue.sync { body(source.value) }
    }

    /// What was told until now is safe.
    func commit() { core.queue.sync { parts.value.safety.commit() } }

    /// Does this on the core, once, when the trail comes to a line that begins so, and before what follows from it.
    func when(_ beginning: String, _ work: @escaping @Sendable () -> Void) {
        said.hook.withLock { $0 = (beginning, work) }
    }

    /// Everything that was read and concluded, with the microsecond of the wall clock.
    var trail: [(time: Int64, text: String)] { said.trail.withLock { $0 } }

    var inputs: [Input] { said.inputs.withLock { $0 } }

    /// What the log was told.
    var warnings: [String] { said.warnings.withLock { $0 } }

    /// Why less is seen than there may be.
    var limits: [String?] { said.limits.withLock { $0 } }

    /// What was put into the store and taken out of it.
    var kept: [String] { said.kept.withLock { $0 } }

    /// What is in it, as the service manager has it: copies.
    var store: [KeptDescriptor: Int32] { said.store.withLock { $0 } }

    /// Without what is nothing by itself.
    var facts: [Fact] {
        inputs.compactMap { input in
            switch input {
            case .event(_, .path(let fact), _) where fact.isUntold: nil
            case .event(_, let fact, _): fact
            case .change(_, let fact, _): .path(fact)
            default: nil
            }
        }
    }

    /// What a source says that it compares, in order; `nil`: nothing any more.
    var comparisons: [String?] { said.comparisons.withLock { $0 } }
    var lines: [LineFact] { facts.compactMap { if case .line(let line) = $0 { line } else { nil } } }
    var texts: [String] { lines.map { String(decoding: $0.bytes, as: UTF8.self) } }
    var paths: [PathFact] { facts.compactMap { if case .path(let path) = $0 { path } else { nil } } }

    /// How far a source had read when it said so last; given to the next one too.
    var position: [UInt8]? { said.positions.withLock { $0.last } }

    /// The notes of a stop.
    var notes: [[UInt8]] { core.queue.sync { parts.value.environment.untaken.told.map(\.note) } }

    /// Events that were refused, and parts of lines that are lost.
    var filtered: Int { inputs.reduce(0) { if case .filtered(_, let count) = $1 { $0 + count } else { $0 } } }
    var gap: Int {
        inputs.reduce(0) { sum, input in
            switch input {
            case .gap(_, let count), .cut(_, let count): sum + count
            default: sum
            }
        }
    }

    /// The last thing said of the source itself.
    var condition: SourceCondition? {
        inputs.compactMap { if case .source(_, let condition) = $0 { condition } else { nil } }.last
    }

    func waitUntilArmed() throws {
        try wait(for: "the source to be armed") { condition == .armed }
    }
}

/// Confined to the core.
final class RimParts {
    let environment: SourceEnvironment
    let safety: Safety

    init(environment: SourceEnvironment, safety: Safety) {
        self.environment = environment
        self.safety = safety
    }
}

/// What sources have said so far.
private final class RimNotes: Sendable {
    let inputs = Mutex<[Input]>([])
    let trail = Mutex<[(time: Int64, text: String)]>([])
    let hook = Mutex<(beginning: String, work: @Sendable () -> Void)?>(nil)
    let kept = Mutex<[String]>([])
    let store = Mutex<[KeptDescriptor: Int32]>([:])
    let warnings = Mutex<[String]>([])
    let comparisons = Mutex<[String?]>([])
    let limits = Mutex<[String?]>([])
    let positions = Mutex<[[UInt8]]>([])

    deinit { for copy in store.withLock({ $0 }).values { FileDescriptor(owning: copy).close() } }

    func trail(_ text: String) {
        trail.withLock { $0.append((Linux.now(.realtime), text)) }
        let work = hook.withLock { hook -> (@Sendable () -> Void)? in
            guard let (beginning, work) = hook, text.hasPrefix(beginning) else { return nil }
            hook = nil
            return work
        }
        work?()
    }

    func keep(_ name: KeptDescriptor, _ number: Int32) {
        kept.withLock { $0.append("keep \(name.name) \(number >= 0)") }
        put(name, try? Linux.duplicate(number).release())
    }

    func forget(_ name: KeptDescriptor) {
        kept.withLock { $0.append("forget \(name.name)") }
        put(name, nil)
    }

    private func put(_ name: KeptDescriptor, _ copy: Int32?) {
        let older = store.withLock { store in
            defer { store[name] = copy }
            return store[name]
        }
        if let older { FileDescriptor(owning: older).close() }
    }

    /// Lines that came together are events like any others.
    func note(_ input: Input) {
        guard case .lines(let id, let facts, let position) = input else {
            return inputs.withLock { $0.append(input) }
        }
        inputs.withLock { $0 += facts.map { .event(id, .line($0)) } }
        if let position { positions.withLock { $0.append(position) } }
    }
}

/// Says when what was told is stored: at once, or when the test wants it. Confined to the core.
final class Safety {
    private let isByHand: Bool
    private var waiting: [() -> Void] = []
    private var count = 0
    /// Called with the number of each event when it is told; of the last, where several are told at once.
    var onEvent: ((Int) -> Void)?

    init(isByHand: Bool) { self.isByHand = isByHand }

    func whenSafe(_ work: @escaping () -> Void) {
        if isByHand { waiting.append(work) } else { work() }
    }

    func told(_ input: Input) {
        switch input {
        case .event: count += 1
        case .lines(_, let facts, _): count += facts.count
        default: return
        }
        onEvent?(count)
    }

    func commit() {
        let now = waiting
        waiting = []
        for work in now { work() }
    }
}
