/// Does its work again and again, while it is started. Confined to the hub's context.
final class RepeatingClock {
    private let hub: InotifyHub
    private let work: () -> Void
    /// Microseconds; `nil`: it is stopped.
    private var interval: Int?
    private var pause = 0
    /// Of the round that is awaited.
    private var round = 0

    init(_ hub: InotifyHub, _ work: @escaping () -> Void) {
        self.hub = hub
        self.work = work
    }

    /// Where it goes on with the same interval already, this changes nothing.
    ///
    /// - Parameters:
    ///   - interval: microseconds from one round to the next.
    ///   - first: microseconds to the first round; later pauses double up to the interval.
    func start(every interval: Int, first: Int? = nil) {
        guard self.interval != interval else { return }
        self.interval = interval
        pause = min(first ?? interval, interval)
        wait()
    }

    func stop() {
        interval = nil
        round += 1
    }

    private func wait() {
        guard let interval else { return }
        round += 1
        hub.after(pause) { [weak self, round] in
            guard let self, self.round == round else { return }
            work()
            if self.round == round { wait() }
        }
        pause = min(2 * pause, interval)
    }
}
