extension StoreResult: CustomStringConvertible {
    var description: String {
        let parts = [
            rates.map(text), delays.map(text), history.map(text), large.map(text),
        ]
        return """
            \(watchd), store
            \(machine), \(loadAfter.text(1)) after
            \(settings.rounds) rounds of \(settings.operations) operations for each, in turn; medians of the rounds.

            \(parts.compactMap { $0 }.joined(separator: "\n\n"))
            """
    }

    private func text(_ rates: [Rate]) -> String {
        var table = Table()
        table.add(
            "", "clients", "events/call", "watchd/s", "bare SQLite/s", "ops/commit", "ratio", "target", "",
            "not durable/s", "ratio to both")
        for rate in rates {
            table.add(
                "\(rate.work)", "\(rate.load.clients)", "\(rate.load.events)", range(rate.watchd, 0),
                range(rate.bare, 0),
                Rounds(rate.operationsPerTransaction).median.text(1), range(rate.ratio), "≥ \(targets.ratio.text(1))",
                rate.ratio.median >= targets.ratio ? "met" : "missed", range(rate.plain, 0),
                range(rate.ratioToBoth))
        }
        return """
            durable operations a second, beside bare SQLite with the same rows in as many transactions
            \(table)
            both: an operation that is not durable, and then bare SQLite
            """
    }

    private func text(_ delays: Delays) -> String {
        var table = Table()
        table.add("beside it", "p50", "p99")
        for (name, rounds) in [
            ("nothing", delays.alone), ("plain", delays.besidePlain), ("durable", delays.besideDurable),
        ] {
            let (p50, p99) = (Rounds(rounds.map(\.p50)), Rounds(rounds.map(\.p99)))
            table.add(name, "\(range(p50, 0)) µs", "\(range(p99, 0)) µs")
        }
        return """
            from an event of a plain queue to its handler, \(NeighbourCost.clients) other operations just fired
            \(table)
            beside durable over beside plain: p50 \(range(delays.ratio(\.p50))), p99 \(range(delays.ratio(\.p99)))
            """
    }

    private func text(_ history: History) -> String {
        """
        operations a second of a plain queue, \(NeighbourCost.burstClients) clients: with history \
        \(range(history.on, 0)), KeepHistory=0 \(range(history.off, 0)); ratio \(range(history.ratio))
        """
    }

    private func text(_ large: Large) -> String {
        var table = Table()
        table.add("", "median", "slowest", "target", "")
        add(to: &table, "READY after a clean stop", large.cleanStarts, target: targets.start)
        add(to: &table, "READY after kill -9", large.uncleanStarts, target: targets.start)
        for query in large.queries { add(to: &table, "history: \(query.name)", query.times, target: targets.query) }
        return """
            a store with \(settings.pending) operations pending and \(settings.records) runs of history, \
            \(settings.starts) starts of each kind, \(settings.queries) questions of each kind over the socket
            \(table)
            resident \((Double(large.memory) / 1024).text(1)) MB; slowest of the first \(LargeStore.firstEmits) \
            durable events after a start \(milliseconds(large.slowestEmit))
            """
    }

    private func add(to table: inout Table, _ name: String, _ times: [Int64], target: Int64) {
        let slowest = times.max() ?? 0
        table.add(
            name, milliseconds(Int64(Rounds(times).median)), milliseconds(slowest), "< \(milliseconds(target))",
            slowest < target ? "met" : "missed")
    }

    private func range(_ values: [Double], _ digits: Int) -> String { range(Rounds(values), digits) }

    private func range(_ rounds: Rounds, _ digits: Int = 2) -> String {
        "\(rounds.median.text(digits)) (\(rounds.low.text(digits))–\(rounds.high.text(digits)))"
    }

    private func milliseconds(_ microseconds: Int64) -> String { "\((Double(microseconds) / 1000).text(1)) ms" }
}
