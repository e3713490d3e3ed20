import LinuxSystem

/// What watchd does while nothing happens.
struct IdleBenchmark {
    struct Settings {
        /// How long it is watched.
        var seconds = 30
        var runs = 5000
        var starts = 20
    }

    /// ms after which what was started has settled: memory goes back after ten quiet seconds, and a thread that Dispatch
    /// needs no more leaves 5 s after it was last needed.
    private static let settling = 20_000

    let programs: Programs
    let bed: Bed
    let settings: Settings

    init(programs: Programs, bed: Bed, _ settings: Settings) {
        self.programs = programs
        self.bed = bed
        self.settings = settings
    }

    func run() throws -> IdleResult {
        let machine = Machine()
        let folder = try bed.makeFolder("idle")
        let reports = try Reports("\(folder)/report", bed: bed)
        defer { reports.close() }
        let fifo = "\(folder)/fifo"
        let file = try writeFile(folder, fifo: fifo, report: reports.path)
        let starts = try (0..<settings.starts).map { _ in
            let daemon = try Daemon("idle", [programs.watchd, file], bed: bed)
            defer { daemon.stop() }
            return daemon.startTime
        }
        let daemon = try Daemon("idle", [programs.watchd, file], bed: bed)
        defer { daemon.stop() }
        let fresh = try watch(daemon)
        let began = Bed.now
        try FIFOStimulus(fifo).burst(settings.runs, bed)
        try reports.skip(settings.runs)
        let burst = Bed.now - began
        let after = try watch(daemon)
        return IdleResult(
            watchd: programs.watchd, machine: machine, seconds: settings.seconds, starts: settings.starts,
            startToReady: Rounds(starts),
            fresh: fresh, runs: settings.runs, burst: burst, afterBurst: after)
    }

    /// One source of each kind.
    private func writeFile(_ folder: String, fifo: String, report: String) throws -> String {
        let file = "\(folder)/bench.watch"
        let command = "\(programs.handler) \(report)"
        let text = """
            [Watchd]
            ControlSocket=\(folder)/control
            StateDirectory=\(folder)/state
            [Descriptor fifo]
            ListenFIFO=\(fifo)
            Exec=\(command)
            [Path folder]
            Path=\(folder)/watched
            Exec=\(command)
            [Process process]
            PIDFile=\(folder)/watched/pid
            Exec=\(command)
            [Signal signal]
            Signal=USR1
            Exec=\(command)
            [Timer timer]
            AfterSec=1d
            Exec=\(command)
            [Custom custom]
            Exec=\(command)

            """
        try Linux.mkdir("\(folder)/watched")
        try Linux.open(file, [.writing, .creating], mode: 0o600).use { try Linux.writeAll($0, text.utf8) }
        return file
    }

    private func watch(_ daemon: Daemon) throws -> IdleResult.Window {
        try bed.pause(milliseconds: Self.settling)
        daemon.drainNotifications()
        let before = try ProcessFigures(daemon.processID)
        try bed.pause(milliseconds: settings.seconds * 1000)
        return IdleResult.Window(from: before, to: try ProcessFigures(daemon.processID))
    }
}
