import LinuxSystem

/// A large tree: how long it takes to arm, what it costs in memory, and what an event costs then.
struct TreeBenchmark {
    struct Settings {
        var folders = 100_000
        /// In each folder.
        var files = 5
        /// That are written when it is armed.
        var events = 10_000
        var rounds = 3
    }

    /// Folders in a folder.
    private static let width = 100
    private static let quiet = 2000

    let programs: Programs
    let bed: Bed
    let settings: Settings

    func run() throws -> TreeResult {
        let machine = Machine()
        let (one, bare, full) = ("\(bed.folder)/one", "\(bed.folder)/bare", "\(bed.folder)/full")
        try Linux.mkdir(one)
        try make(bare, files: 0)
        try make(full, files: settings.files)
        var sides: [Watcher: [TreeResult.Round]] = [:]
        let watchers = Watcher.allCases.filter { $0 != .incron && $0 != .watchman && $0.isInstalled }
        for round in 0..<settings.rounds {
            for watcher in watchers {
                sides[watcher, default: []].append(try measure(watcher, "\(bed.folder)/\(watcher)-\(round)", full))
            }
        }
        let bytes = try [one, bare, full].enumerated().map { number, target in
            try memory(on: target, "\(bed.folder)/memory-\(number)")
        }
        let files = settings.folders * settings.files
        return TreeResult(
            machine: machine, folders: settings.folders, files: files, events: settings.events,
            sides: watchers.map { TreeResult.OfSide(watcher: $0, rounds: sides[$0] ?? []) },
            bytesOfFolder: Double(bytes[1] - bytes[0]) / Double(settings.folders),
            bytesOfFile: files == 0 ? nil : Double(bytes[2] - bytes[1]) / Double(files))
    }

    private func make(_ top: String, files: Int) throws {
        try Linux.mkdir(top)
        for number in 0..<settings.folders {
            let above = number / Self.width
            if number % Self.width == 0 { try Linux.mkdir("\(top)/\(above)") }
            let folder = number % Self.width == 0 ? "\(top)/\(above)" : Self.place(number, top)
            if number % Self.width != 0 { try Linux.mkdir(folder) }
            for file in 0..<files { try Linux.open("\(folder)/f\(file)", [.writing, .creating]).close() }
        }
    }

    private static func place(_ number: Int, _ top: String) -> String {
        number % width == 0 ? "\(top)/\(number / width)" : "\(top)/\(number / width)/\(number % width)"
    }

    private func measure(_ watcher: Watcher, _ folder: String, _ target: String) throws -> TreeResult.Round {
        try Linux.mkdir(folder)
        let lines = try ToldLines("\(folder)/told")
        let daemon = try watcher.start(on: target, told: lines.path, folder, programs, bed)
        defer { daemon.stop() }
        try bed.pause(milliseconds: Self.quiet)
        let used = ProcessFigures.processorTime(ofTree: daemon.processID)
        for number in 0..<settings.events {
            let place = Self.place(number &* 7919 % settings.folders, target)
            try Linux.open("\(place)/new\(number)", [.writing, .creating]).close()
        }
        _ = try lines.waitUntilQuiet(Self.quiet, bed)
        let processor = Double(ProcessFigures.processorTime(ofTree: daemon.processID) - used) / Double(settings.events)
        let told = lines.count
        for number in 0..<settings.events {
            try Linux.unlink("\(Self.place(number &* 7919 % settings.folders, target))/new\(number)")
        }
        return TreeResult.Round(armed: daemon.startTime, told: told, processor: processor)
    }

    /// Bytes of watchd's own memory when it is armed and quiet.
    private func memory(on target: String, _ folder: String) throws -> Int {
        try Linux.mkdir(folder)
        let daemon = try Watcher.watchd.start(on: target, told: "\(folder)/told", folder, programs, bed)
        defer { daemon.stop() }
        // What a start has needed for a moment is given back by then.
        try bed.pause(milliseconds: 15_000)
        return 1024 * (try ProcessFigures(daemon.processID).memory["Pss_Anon"] ?? 0)
    }
}

/// What `watchd-bench tree` tells; times in µs.
struct TreeResult: Encodable, CustomStringConvertible {
    struct Round: Encodable {
        /// From its start to ready.
        var armed: Int64
        /// Lines.
        var told: Int
        /// For an event, with that of the commands it starts.
        var processor: Double
    }

    struct OfSide: Encodable {
        var watcher: Watcher
        var rounds: [Round]
    }

    var machine: Machine
    var folders: Int
    var files: Int
    var events: Int
    var sides: [OfSide]
    var bytesOfFolder: Double
    /// `nil`: there are none.
    var bytesOfFile: Double?

    var description: String {
        var table = Table()
        table.add("", "armed after", "of the floor's", "told of", "CPU an event")
        let floor = sides.first { $0.watcher == .floor }
        for side in sides {
            let ratio = floor.map { floor in
                Rounds(zip(side.rounds, floor.rounds).map { Double($0.armed) / Double($1.armed) })
            }
            table.add(
                side.watcher.rawValue, "\((Rounds(side.rounds.map(\.armed)).median / 1_000_000).text(2)) s",
                ratio.map { "\($0.median.text(2)) × (\($0.low.text(2))–\($0.high.text(2)))" } ?? "",
                "\(side.rounds.map(\.told).min() ?? 0)", "\(Rounds(side.rounds.map(\.processor)).median.text(1)) µs")
        }
        table.add("target", "", "≤ 1.50 × (watchd)", "\(events)", "")
        let ofFile = bytesOfFile.map { ", \($0.text(0)) bytes a file (at most 100)" } ?? ""
        return """
            a tree of \(folders) folders with \(files) files, in which \(events) files are made when it is watched
            \(machine)

            \(table)
            watchd's memory: \(bytesOfFolder.text(0)) bytes a folder (at most 200)\(ofFile)
            """
    }
}
