import CDispatch
import Dispatch
import Engine
import Schedule
import SeedKit
import Synchronization
import Testing
import WatchFile

/// Data sources of Dispatch say what a `[Custom]` source fires with, and when it does not.
@Suite("Data sources of Dispatch as the oracle") struct DispatchSourceOracleTests {
    private static let values: [Int64] = [0, 1, 2, 5, -1, -2, -5, .max, .min]

    /// Each round, data comes while the queue or the source is suspended; then it goes on.
    @Test(arguments: [CustomTrigger.Merge.add, .or, .replace]) func theSameDataFires(merge: CustomTrigger.Merge) {
        for seed in Seeds.range(40) {
            var random = SeededGenerator(seed: seed)
            let dispatch = DispatchDataSource(merge)
            var engine = EngineDataSource(merge)
            for round in 1...12 {
                let (isSource, data) = (random.chance(50), (0...random.upTo(3)).map { _ in random.pick(Self.values) })
                let (real, ours) = (
                    dispatch.fired(by: data, isSource: isSource), engine.fired(by: data, isSource: isSource)
                )
                guard real != ours else { continue }
                Issue.record(
                    "\(merge) \(data): Dispatch \(real), the engine \(ours); round \(round) of WATCHD_SEEDS=\(seed)...\(seed)"
                )
                return
            }
        }
    }
}

private final class DispatchDataSource {
    private let merge: CustomTrigger.Merge
    private let queue = DispatchQueue(label: "data")
    private let source: any DispatchSourceProtocol
    private let fire: (UInt) -> Void
    private let record = Mutex<[Int64]>([])

    init(_ merge: CustomTrigger.Merge) {
        self.merge = merge
        switch merge {
        case .add:
            let source = DispatchSource.makeUserDataAddSource(queue: queue)
            (self.source, fire) = (source, { source.add(data: $0) })
        case .or:
            let source = DispatchSource.makeUserDataOrSource(queue: queue)
            (self.source, fire) = (source, { source.or(data: $0) })
        case .replace:
            let source = DispatchSource.makeUserDataReplaceSource(queue: queue)
            (self.source, fire) = (source, { source.replace(data: $0) })
        }
        source.setEventHandler { [unowned self] in
            let data = Int64(bitPattern: UInt64(dataNow))
            record.withLock { $0.append(data) }
        }
        source.activate()
        queue.sync {}
    }

    deinit { source.cancel() }

    private var dataNow: UInt {
        if let source = source as? any DispatchSourceUserDataAdd { return source.data }
        if let source = source as? any DispatchSourceUserDataOr { return source.data }
        return (source as? any DispatchSourceUserDataReplace)?.data ?? 0
    }

    func fired(by data: [Int64], isSource: Bool) -> [Int64] {
        if isSource { source.suspend() } else { queue.suspend() }
        for value in data { fire(UInt(bitPattern: Int(value))) }
        if isSource { source.resume() } else { queue.resume() }
        // A source that has data stands on its queue by now.
        for _ in 0..<3 { queue.sync {} }
        return record.withLock { fired in
            defer { fired = [] }
            return fired
        }
    }
}

private struct EngineDataSource {
    private var engine: Engine
    private var lastToken: UInt64 = 0
    private static let now = Moment(realtime: 1_800_000_000_000_000, boottime: 1_000_000_000, monotonic: 900_000_000)

    init(_ merge: CustomTrigger.Merge) {
        let queues =
            QueueDefinition.builtInNames.map { name in
                QueueDefinition(name: name, kind: name == "main" ? .serial : .concurrent(width: 9))
            } + [QueueDefinition(name: "q", kind: .serial)]
        let source = SourceDefinition(
            id: SourceID(.custom, "c"), routes: [Route(handler: "h", queue: "q")], key: .handler, coalesces: true,
            trigger: .custom(CustomTrigger(merge: merge)))
        let configuration = Configuration(
            settings: DaemonSettings(maxProcesses: 9), queues: queues, semaphores: [],
            handlers: [HandlerDefinition(name: "h", action: .log(Template(parts: [.specifier(.data)])), queue: "q")],
            sources: [source])
        engine = Engine(configuration, at: Self.now)
        _ = engine.start()
    }

    mutating func fired(by data: [Int64], isSource: Bool) -> [Int64] {
        let name = isSource ? "custom/c" : "queue/q"
        var actions = send(.suspend(name: name, by: "oracle", reason: nil, until: nil))
        for value in data { actions += send(.emit([.init(name: "c", fact: CustomFact(data: value))])) }
        actions += send(.resume(name: name))
        return actions.compactMap { action in
            if case .log(_, _, let text) = action { Int64(String(decoding: text, as: UTF8.self)) } else { nil }
        }
    }

    private mutating func send(_ command: Engine.Command) -> [Action] {
        lastToken += 1
        return engine.handle(.command(command, Token(lastToken)), at: Self.now)
    }
}
