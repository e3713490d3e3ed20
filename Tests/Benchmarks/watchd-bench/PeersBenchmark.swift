import LinuxSystem

/// Another program that starts a command for a file that is closed after writing.
enum Peer: String, CaseIterable, Encodable {
    case inotifywait

    private var program: String { "/usr/bin/\(rawValue)" }

    /// It is here, and `systemd-notify`, by which it is known to be ready.
    var isInstalled: Bool {
        [program, "/usr/bin/systemd-notify"].allSatisfy { (try? Linux.access($0, .executing)) != nil }
    }

    /// For `sh -c`: $1 the watched folder, $2 the handler, $3 its argument, $4 a folder for files of its own.
    var script: String {
        switch self {
        case .inotifywait:
            """
            trap 'trap - TERM; kill 0' TERM
            mkfifo "$4/ready"
            inotifywait -m -e close_write "$1" 2>"$4/ready" | while read -r line; do "$2" "$3"; done &
            grep -q established <"$4/ready"
            systemd-notify --ready
            wait
            """
        }
    }
}

/// From the close of a file to the handler's `main`: watchd and what else Debian has for that, one event after the other
/// in turn.
struct PeersBenchmark {
    let programs: Programs
    let bed: Bed
    let settings: LatencyBenchmark.Settings

    func run() throws -> PeersResult {
        let machine = Machine()
        let folder = try bed.makeFolder("peers")
        var sides: [(name: String, side: Side, rounds: [Percentiles])] = []
        defer { for side in sides { side.side.stop() } }
        sides.append(("watchd", try Side.watchd(.path, "\(folder)/watchd", programs, bed), []))
        for peer in Peer.allCases where peer.isInstalled {
            sides.append((peer.rawValue, try Side.peer(peer, "\(folder)/\(peer)", programs, bed), []))
        }
        for round in 0...settings.rounds {
            // The first events of each pay for what is loaded once.
            let events = round == 0 ? min(10, settings.events) : settings.events
            var times: [[Int64]] = sides.map { _ in [] }
            for _ in 0..<events {
                for index in sides.indices {
                    times[index].append(
                        try sides[index].side.latency(gap: max(settings.gap, LatencyBenchmark.gapOfPaths)))
                }
            }
            guard round > 0 else { continue }
            for index in sides.indices { sides[index].rounds.append(Percentiles(times[index])) }
        }
        return PeersResult(
            machine: machine, rounds: settings.rounds, events: settings.events,
            sides: sides.map { PeersResult.OfSide(name: $0.name, rounds: $0.rounds) },
            absent: Peer.allCases.filter { !$0.isInstalled })
    }
}

/// What `watchd-bench peers` tells; times in µs.
struct PeersResult: Encodable, CustomStringConvertible {
    struct OfSide: Encodable {
        var name: String
        var p50: Rounds
        var p99: Rounds
        var rounds: [Percentiles]

        init(name: String, rounds: [Percentiles]) {
            self.name = name
            self.rounds = rounds
            p50 = Rounds(rounds.map(\.p50))
            p99 = Rounds(rounds.map(\.p99))
        }
    }

    var machine: Machine
    var rounds: Int
    var events: Int
    var sides: [OfSide]
    /// Not installed here.
    var absent: [Peer]

    var description: String {
        var table = Table()
        table.add("", "p50", "watchd : this", "(rounds)", "p99", "watchd : this", "(rounds)")
        for side in sides {
            let (p50, p99) = (ratio(side, \.p50), ratio(side, \.p99))
            table.add(
                side.name, "\(side.p50.median.text(0)) µs", p50?.median.text(2) ?? "", range(p50),
                "\(side.p99.median.text(0)) µs", p99?.median.text(2) ?? "", range(p99))
        }
        let missing = absent.isEmpty ? "" : "\nnot installed here: \(absent.map(\.rawValue).joined(separator: ", "))"
        return """
            from the close of a file to the handler's main, one event after the other in turn
            \(machine)
            \(rounds) rounds of \(events) events for each; medians of the rounds.

            \(table)\(missing)
            """
    }

    private func ratio(_ side: OfSide, _ time: KeyPath<Percentiles, Int64>) -> Rounds? {
        guard let watchd = sides.first, side.name != watchd.name else { return nil }
        return Rounds(
            zip(watchd.rounds, side.rounds).map { Double($0[keyPath: time]) / Double(max(1, $1[keyPath: time])) })
    }

    private func range(_ rounds: Rounds?) -> String {
        rounds.map { "(\($0.low.text(2))–\($0.high.text(2)))" } ?? ""
    }
}
