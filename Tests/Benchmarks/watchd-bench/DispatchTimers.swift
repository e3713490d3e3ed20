import Dispatch
import LinuxSystem
import Synchronization

/// As many `DispatchSourceTimer`s on one serial queue, at the same instants and with the same leeway.
final class DispatchTimers: Sendable {
    private struct State {
        /// Monotonic µs of each one's next elapse.
        var next: [Int64]
        var fires = 0
        /// µs behind it.
        var lateness: [Int64] = []
    }

    private let queue = DispatchQueue(label: "watchd-bench.timers")
    private let periods: [Int64]
    private let state: Mutex<State>

    init(periods: [Int64]) {
        self.periods = periods
        let now = Linux.now(.monotonic)
        state = Mutex(State(next: periods.map { (now / $0 + 1) * $0 }))
    }

    func run(seconds: Int) throws -> TimerResult.Round {
        let before = Linux.allocatedBytes
        let timers = periods.indices.map { timer($0) }
        queue.sync {}
        let bytes = Double(Linux.allocatedBytes - before) / Double(periods.count)
        state.withLock { ($0.fires, $0.lateness) = (0, []) }
        let (began, start) = (Linux.now(.monotonic), TimerBenchmark.processorTime)
        _ = try Linux.poll([], timeout: Int32(seconds * 1000))
        let (time, processor) = (Linux.now(.monotonic) - began, TimerBenchmark.processorTime - start)
        let end = state.withLock { $0 }
        for timer in timers { timer.cancel() }
        queue.sync {}
        return TimerResult.Round(
            fires: end.fires, time: time, processor: processor, bytes: bytes, lateness: end.lateness)
    }

    private func timer(_ index: Int) -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        let first = state.withLock { $0.next[index] }
        timer.schedule(
            deadline: DispatchTime(uptimeNanoseconds: UInt64(first) * 1000),
            repeating: .microseconds(Int(periods[index])), leeway: .microseconds(Int(TimerBenchmark.leeway)))
        timer.setEventHandler { [self] in fired(index) }
        timer.resume()
        return timer
    }

    private func fired(_ index: Int) {
        let now = Linux.now(.monotonic)
        state.withLock { state in
            state.fires += 1
            state.lateness.append(now - state.next[index])
            while state.next[index] <= now { state.next[index] += periods[index] }
        }
    }
}
