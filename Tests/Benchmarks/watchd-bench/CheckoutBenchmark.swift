import LinuxSystem

/// A `git checkout` that changes many files, to the start of the handler of all of them.
struct CheckoutBenchmark {
    struct Settings {
        var files = 50_000
        /// `SettleSec=`, in ms.
        var settle = 200
        var rounds = 3
    }

    /// Files in a folder.
    private static let width = 100

    let programs: Programs
    let bed: Bed
    let settings: Settings

    func run() throws -> CheckoutResult {
        guard (try? Linux.access("/usr/bin/git", .executing)) != nil else {
            throw Failure(message: "there is no git")
        }
        let machine = Machine()
        let target = "\(bed.folder)/work"
        try makeRepository(target)
        let folder = try bed.makeFolder("checkout")
        let lines = try ToldLines("\(folder)/told")
        let reports = try Reports("\(folder)/report", bed: bed)
        defer { reports.close() }
        let daemon = try start(target, lines, reports, folder)
        defer { daemon.stop() }
        var rounds: [CheckoutResult.Round] = []
        for round in 0..<settings.rounds {
            let before = lines.count
            let used = ProcessFigures.processorTime(ofTree: daemon.processID)
            let began = Bed.now
            try git(target, "checkout", "-q", round % 2 == 0 ? "second" : "first")
            let ended = Bed.now
            let handler = try reports.next()
            _ = try lines.waitUntilQuiet(2 * settings.settle + 1000, bed)
            rounds.append(
                CheckoutResult.Round(
                    checkout: ended - began, handler: handler - ended, told: lines.count - before,
                    processor: Double(ProcessFigures.processorTime(ofTree: daemon.processID) - used)
                        / Double(settings.files)))
        }
        return CheckoutResult(
            machine: machine, files: settings.files, settle: settings.settle, rounds: rounds,
            absent: Watcher.watchman.isInstalled ? "watchman: it has no part in this" : "watchman: not installed here")
    }

    private func start(
        _ target: String, _ lines: ToldLines, _ reports: Reports, _ folder: String
    ) throws -> Daemon {
        let file = "\(folder)/bench.watch"
        let text = """
            [Watchd]
            ControlSocket=\(folder)/control
            StateDirectory=\(folder)/state
            MaxOperations=1000000000
            MaxMemory=1024G
            [Queue files]
            Backlog=1000000000
            BacklogBytes=1024G
            [Path files]
            Path=\(target)
            Recursive=yes
            Prune=.git
            SettleSec=\(settings.settle)ms
            MaxSettleSec=1h
            Key=
            Coalesce=yes
            Queue=files
            Exec=/bin/sh -c '\(programs.handler) \(reports.path); exec cat'
            StandardInput=paths
            StandardOutput=append:\(lines.path)

            """
        try Linux.open(file, [.writing, .creating], mode: 0o600).use { try Linux.writeAll($0, text.utf8) }
        return try Daemon("checkout", [programs.watchd, file], bed: bed)
    }

    // MARK: The repository

    /// Two branches, in which each file differs.
    private func makeRepository(_ target: String) throws {
        try Linux.mkdir(target)
        try git(target, "init", "-q", "-b", "first")
        try write(target, "1")
        try commit(target)
        try git(target, "checkout", "-q", "-b", "second")
        try write(target, "2")
        try commit(target)
        try git(target, "checkout", "-q", "first")
    }

    private func write(_ target: String, _ text: String) throws {
        for number in 0..<settings.files {
            let folder = "\(target)/\(number / Self.width)"
            if number % Self.width == 0, (try? Linux.stat(folder)) == nil { try Linux.mkdir(folder) }
            try Linux.open("\(folder)/f\(number)", [.writing, .creating, .truncating]).use {
                try Linux.writeAll($0, "\(text) \(number)\n".utf8)
            }
        }
    }

    private func commit(_ target: String) throws {
        try git(target, "add", ".")
        try git(target, "-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-q", "-m", "all")
    }

    private func git(_ folder: String, _ arguments: String...) throws {
        let all = ["/usr/bin/git", "-C", folder, "-c", "gc.auto=0"] + arguments
        let pidfd = try Linux.open("/dev/null", .readingAndWriting).use { null in
            let spawned = try Linux.spawn(
                SpawnSpecification(
                    path: Array(all[0].utf8), arguments: all.map { Array($0.utf8) },
                    environment: ["PATH=/usr/bin:/bin", "HOME=/nonexistent"].map { Array($0.utf8) },
                    descriptors: [null, null, 2]))
            return spawned.pidfd.release()
        }
        defer { FileDescriptor(owning: pidfd).close() }
        guard try bed.wait(for: pidfd, milliseconds: 600_000) else { throw Failure(message: "git does not end") }
    }
}

/// What `watchd-bench checkout` tells; times in µs.
struct CheckoutResult: Encodable, CustomStringConvertible {
    struct Round: Encodable {
        /// Of git.
        var checkout: Int64
        /// From the end of git to the start of the handler.
        var handler: Int64
        /// Files.
        var told: Int
        /// For a file.
        var processor: Double
    }

    var machine: Machine
    var files: Int
    /// ms
    var settle: Int
    var rounds: [Round]
    var absent: String

    var description: String {
        var table = Table()
        table.add("", "git", "to the handler", "beyond SettleSec=", "told of", "CPU a file")
        for (number, round) in rounds.enumerated() {
            table.add(
                "round \(number + 1)", "\((Double(round.checkout) / 1_000_000).text(2)) s",
                "\((Double(round.handler) / 1000).text(0)) ms",
                "\((Double(round.handler) / 1000 - Double(settle)).text(0)) ms", "\(round.told)",
                "\(round.processor.text(1)) µs")
        }
        return """
            a git checkout that changes \(files) files, from its end to the start of the handler, SettleSec=\(settle)ms
            \(machine)

            \(table)
            left out: \(absent)
            """
    }
}
