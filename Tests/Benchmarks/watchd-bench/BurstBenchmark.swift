import LinuxSystem

/// Many new files at once: which of them each watcher tells of, and what that costs.
struct BurstBenchmark {
    struct Settings {
        var files = 60_000
        /// Below the one that is watched; 0: in that one.
        var folders = 0
        var rounds = 3
        var only: Watcher?
    }

    /// ms without a line after which nothing more is awaited.
    private static let quiet = 3000

    let programs: Programs
    let bed: Bed
    let settings: Settings

    func run() throws -> BurstResult {
        let machine = Machine()
        var sides: [Watcher: [BurstResult.Round]] = [:]
        let takers = Watcher.allCases.filter { settings.only == nil || $0 == settings.only }
        let present = takers.filter { $0.absence(isTree: settings.folders > 0) == nil }
        for round in 0..<settings.rounds {
            for watcher in present {
                sides[watcher, default: []].append(try measure(watcher, "\(bed.folder)/\(watcher)-\(round)"))
            }
        }
        let absent = takers.compactMap { watcher in
            watcher.absence(isTree: settings.folders > 0).map { "\(watcher.rawValue): \($0)" }
        }
        return BurstResult(
            machine: machine, files: settings.files, folders: settings.folders,
            sides: present.map { BurstResult.OfSide(watcher: $0, rounds: sides[$0] ?? []) }, absent: absent)
    }

    private func measure(_ watcher: Watcher, _ folder: String) throws -> BurstResult.Round {
        let target = "\(folder)/target"
        try Linux.mkdir(folder)
        try Linux.mkdir(target)
        for number in 0..<settings.folders { try Linux.mkdir("\(target)/\(number)") }
        let lines = try ToldLines("\(folder)/told")
        let daemon = try watcher.start(on: target, told: lines.path, folder, programs, bed)
        defer { daemon.stop() }
        let used = ProcessFigures.processorTime(ofTree: daemon.processID)
        let began = Bed.now
        for number in 0..<settings.files { try Linux.open(place(number, target), [.writing, .creating]).close() }
        let made = Bed.now
        let last = try lines.waitUntilQuiet(Self.quiet, bed)
        let names = lines.names
        return BurstResult.Round(
            handled: Set(names).count, duplicates: names.count - Set(names).count, making: made - began,
            time: max(last, made) - began,
            processor: Double(ProcessFigures.processorTime(ofTree: daemon.processID) - used) / Double(settings.files))
    }

    private func place(_ number: Int, _ target: String) -> String {
        settings.folders == 0 ? "\(target)/f\(number)" : "\(target)/\(number % settings.folders)/f\(number)"
    }
}

/// What `watchd-bench burst` tells; times in µs.
struct BurstResult: Encodable, CustomStringConvertible {
    struct Round: Encodable {
        /// Files that were told of.
        var handled: Int
        /// Lines beyond those.
        var duplicates: Int
        /// In which the files were made.
        var making: Int64
        /// From the first file to the last line.
        var time: Int64
        /// For a file, with that of the commands it starts.
        var processor: Double
    }

    struct OfSide: Encodable {
        var watcher: Watcher
        var rounds: [Round]
    }

    var machine: Machine
    var files: Int
    var folders: Int
    var sides: [OfSide]
    var absent: [String]

    private func processor(_ side: OfSide) -> Rounds { Rounds(side.rounds.map(\.processor)) }

    var description: String {
        var table = Table()
        table.add("", "told of", "twice", "seconds", "(making)", "CPU a file", "of inotifywait's")
        let other = sides.first { $0.watcher == .inotifywait }.map { processor($0).median }
        for side in sides {
            let handled = side.rounds.map(\.handled).min() ?? 0
            let processor = processor(side).median
            table.add(
                side.watcher.rawValue, "\(handled)", "\(side.rounds.map(\.duplicates).max() ?? 0)",
                (Rounds(side.rounds.map(\.time)).median / 1_000_000).text(2),
                (Rounds(side.rounds.map(\.making)).median / 1_000_000).text(2), "\(processor.text(1)) µs",
                other.map { "\((processor / $0).text(2)) ×" } ?? "")
        }
        table.add("target", "\(files)", "0", "", "", "", "≤ 3 × (watchd)")
        let missing = absent.isEmpty ? "" : "\nleft out: \(absent.joined(separator: "; "))"
        let place = folders == 0 ? "one folder" : "\(folders) folders"
        return """
            \(files) new files in \(place), as fast as one process makes them; the worst of the rounds, times: medians
            \(machine)

            \(table)\(missing)
            """
    }
}
