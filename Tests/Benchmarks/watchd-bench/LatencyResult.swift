/// What `watchd-bench latency` tells; times in µs.
struct LatencyResult: Encodable, CustomStringConvertible {
    struct OfDaemon: Encodable {
        var p50: Rounds
        var p99: Rounds

        init(_ rounds: [Percentiles]) {
            p50 = Rounds(rounds.map(\.p50))
            p99 = Rounds(rounds.map(\.p99))
        }
    }

    /// watchd's over the floor's, round by round.
    struct Ratios: Encodable {
        var p50: Rounds
        var p99: Rounds
    }

    struct OfKind: Encodable {
        var kind: Kind
        var floor: OfDaemon
        var watchd: OfDaemon
        var ratio: Ratios

        init(_ kind: Kind, floor: [Percentiles], watchd: [Percentiles]) {
            func ratios(_ time: KeyPath<Percentiles, Int64>) -> Rounds {
                Rounds(
                    zip(watchd, floor).map { Double($0[keyPath: time]) / Double(max(1, $1[keyPath: time])) })
            }
            self.kind = kind
            self.floor = OfDaemon(floor)
            self.watchd = OfDaemon(watchd)
            ratio = Ratios(p50: ratios(\.p50), p99: ratios(\.p99))
        }
    }

    struct Targets: Encodable {
        var p50 = 1.3
        var p99 = 2.0
    }

    var watchd: String
    var machine: Machine
    var rounds: Int
    var events: Int
    var gap: Int
    var kinds: [OfKind]
    var targets = Targets()

    var description: String {
        var table = Table()
        table.add("", "floor p50", "watchd p50", "ratio", "(rounds)", "floor p99", "watchd p99", "ratio", "(rounds)")
        for kind in kinds {
            table.add(
                kind.kind.rawValue, time(kind.floor.p50), time(kind.watchd.p50), kind.ratio.p50.median.text(2),
                range(kind.ratio.p50), time(kind.floor.p99), time(kind.watchd.p99), kind.ratio.p99.median.text(2),
                range(kind.ratio.p99))
        }
        table.add("target", "", "", targets.p50.text(2), "", "", "", targets.p99.text(2))
        return """
            \(watchd), from the event to the handler's main
            \(machine)
            \(rounds) rounds of \(events) events for each, \(gap) ms apart; medians of the rounds.

            \(table)
            """
    }

    private func time(_ rounds: Rounds) -> String { "\(rounds.median.text(0)) µs" }

    private func range(_ rounds: Rounds) -> String { "(\(rounds.low.text(2))–\(rounds.high.text(2)))" }
}
