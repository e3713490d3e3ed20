import Dispatch
import Engine
import EventSources
import LinuxSystem
import ProgramKit
import Synchronization
import WatchFile

/// What sources need, and what they say.
final class Rim: Sendable {
    let core = Context("test.core")
    private let slow = Context("test.slow")
    private let inputs = Mutex<[Input]>([])
    /// As in the daemon, an inotify instance lives as long as the process.
    private static let hubs = Mutex<[QueueBound<InotifyHub>]>([])

    /// Runs `body` on the core with a source of its own, then `then` elsewhere, and closes the source in the end.
    static func with(
        _ make: (SourceID, SourceEnvironment) -> any EventSource,
        then: (Rim, QueueBound<any EventSource>) throws -> Void
    ) throws {
        let rim = Rim()
        let id = SourceID(.path, "test")
        let (source, set) = try rim.core.queue.sync {
            let epoll = try EpollSet(on: rim.core)
            let inotify = try InotifyHub(on: rim.core)
            let environment = SourceEnvironment(core: rim.core, slow: rim.slow, epoll: epoll, inotify: inotify) {
                [rim] input in rim.inputs.withLock { $0.append(input) }
            }
            let source = make(id, environment)
            source.open()
            hubs.withLock { $0.append(QueueBound(inotify, to: rim.core)) }
            return (QueueBound(source, to: rim.core), QueueBound(epoll, to: rim.core))
        }
        defer {
            rim.core.queue.sync {
                source.value.close()
                set.value.cancel()
            }
        }
        try then(rim, source)
    }

    func on(_ source: QueueBound<any EventSource>, _ body: (any EventSource) -> Void) {
        core.queue.sync { body(source.value) }
    }

    var facts: [Fact] {
        inputs.withLock { $0 }.compactMap { if case .event(_, let fact, _) = $0 { fact } else { nil } }
    }

    var lines: [LineFact] { facts.compactMap { if case .line(let line) = $0 { line } else { nil } } }
    var paths: [PathFact] { facts.compactMap { if case .path(let path) = $0 { path } else { nil } } }

    /// The last thing said of the source itself.
    var condition: SourceCondition? {
        inputs.withLock { $0 }.compactMap { if case .source(_, let condition) = $0 { condition } else { nil } }.last
    }

    func waitUntilArmed() throws {
        try wait(for: "the source to be armed") { condition == .armed }
    }
}
