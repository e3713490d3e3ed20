import LinuxSystem
import Synchronization
import WatchFile

/// How many inotify watches there are, and may be (`MaxWatches=`). Shared by the core and the scans beside it.
///
/// The kernel does not say whether a watch that it gives is a new one; but its numbers rise, so a new one has a number
/// above all before it. One that is too much is taken back, which the kernel reports: so only some are tried at once.
final class WatchRoom: Sendable {
    /// Watches that were taken back and whose end was not read yet.
    private static let tries = 1024
    /// Nanoseconds after which the kernel's own limit is read again.
    private static let pause: Int64 = 1_000_000_000

    private struct State {
        var limit: WatchLimit
        var most = 0
        var isRead: Int64 = 0
        var used = 0
        var highest: Int32 = 0
        var refused: Set<Int32> = []
    }

    private let state: Mutex<State>

    /// - Parameter adopted: watches that there are already.
    init(_ limit: WatchLimit, adopted: Set<Int32> = []) {
        var state = State(limit: limit)
        (state.used, state.highest) = (adopted.count, adopted.max() ?? 0)
        Self.read(&state)
        self.state = Mutex(state)
    }

    private static func read(_ state: inout State) {
        let text = (try? Linux.readFile("/proc/sys/fs/inotify/max_user_watches", limit: 100)) ?? []
        let number = Int(String(decoding: text.prefix { $0 > 0x20 }, as: UTF8.self))
        state.most = state.limit.count(of: number ?? .max / 200)
        state.isRead = Linux.now(.monotonic)
    }

    func set(_ limit: WatchLimit) {
        state.withLock {
            $0.limit = limit
            Self.read(&$0)
        }
    }

    /// Adds a watch, if it is one that there is already, or there may be one more.
    func add(_ inotify: Int32, _ work: () throws(SystemError) -> Int32) throws(SystemError) -> Int32 {
        if let error = state.withLock({ $0.refused.count < Self.tries ? nil : Self.error($0) }) { throw error }
        let watch = try work()
        guard let error = state.withLock({ Self.note(watch, &$0) }) else { return watch }
        try? Linux.inotifyRemove(inotify, watch: watch)
        throw error
    }

    private static func note(_ watch: Int32, _ state: inout State) -> SystemError? {
        guard watch > state.highest else { return nil }
        state.highest = watch
        if state.used >= state.most, Linux.now(.monotonic) - state.isRead > pause { read(&state) }
        guard state.used >= state.most else {
            state.used += 1
            return nil
        }
        state.refused.insert(watch)
        return error(state)
    }

    private static func error(_ state: State) -> SystemError {
        SystemError(
            call: "inotify_add_watch", detail: "MaxWatches=\(state.limit), \(state.most)", errno: .noSpace)
    }

    /// The kernel has reported the end of a watch.
    func ended(_ watch: Int32) {
        state.withLock { if $0.refused.remove(watch) == nil { $0.used = max(0, $0.used - 1) } }
    }

    /// As far as is known: ends that are not read yet may make room.
    var isFull: Bool { state.withLock { $0.used >= $0.most } }

    /// So many there are, as is known now.
    func correct(_ used: Int) { state.withLock { $0.used = used } }

    /// Ends of watches may have been lost.
    func lostEvents() { state.withLock { $0.refused = [] } }
}
