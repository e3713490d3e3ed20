import LinuxSystem

/// One of the two that are compared: a daemon, what makes its events, and where its handlers report.
struct Side {
    private let daemon: Daemon
    private let reports: Reports
    /// `nil`: timers elapse by themselves.
    private let stimulus: (any Stimulus)?
    /// µs after the multiples of the period at which its timer is due.
    private let phase: Int64
    private let bed: Bed

    static func watchd(_ kind: Kind, _ folder: String, _ programs: Programs, _ bed: Bed) throws -> Side {
        try Linux.mkdir(folder)
        let reports = try Reports("\(folder)/report", bed: bed)
        let target = "\(folder)/target"
        try makeTarget(kind, target)
        let trigger =
            switch kind {
            case .path: "[Path bench]\nPath=\(target)"
            case .fifo: "[Descriptor bench]\nListenFIFO=\(target)"
            case .signal: "[Signal bench]\nSignal=\(SignalStimulus.signal)"
            case .exit: "[Process bench]\nPIDFile=\(target)"
            case .timer: "[Timer bench]\nEverySec=\(LatencyBenchmark.timerPeriod)us"
            }
        let file = "\(folder)/bench.watch"
        let text = """
            [Watchd]
            ControlSocket=\(folder)/control
            StateDirectory=\(folder)/state
            \(trigger)
            Exec=\(programs.handler) \(reports.path)

            """
        try Linux.open(file, [.writing, .creating], mode: 0o600).use { try Linux.writeAll($0, text.utf8) }
        let daemon = try Daemon("\(kind)-watchd", [programs.watchd, file], bed: bed)
        return try Side(daemon, reports, kind, target, phase: 0, programs, bed)
    }

    static func floor(_ kind: Kind, _ folder: String, _ programs: Programs, _ bed: Bed) throws -> Side {
        try Linux.mkdir(folder)
        let reports = try Reports("\(folder)/report", bed: bed)
        let target = "\(folder)/target"
        let phase = LatencyBenchmark.floorPhase
        try makeTarget(kind, target)
        let argument =
            switch kind {
            case .path, .fifo, .exit: target
            case .signal: "\(SignalStimulus.signal)"
            case .timer: "\(LatencyBenchmark.timerPeriod),\(phase)"
            }
        let daemon = try Daemon(
            "\(kind)-floor", [programs.floor, kind.rawValue, argument, programs.handler, reports.path], bed: bed)
        return try Side(daemon, reports, kind, target, phase: phase, programs, bed)
    }

    /// Of files.
    static func peer(_ peer: Peer, _ folder: String, _ programs: Programs, _ bed: Bed) throws -> Side {
        try Linux.mkdir(folder)
        let reports = try Reports("\(folder)/report", bed: bed)
        let (target, own) = ("\(folder)/target", "\(folder)/own")
        try makeTarget(.path, target)
        try Linux.mkdir(own)
        let daemon = try Daemon(
            "\(peer)", ["/bin/sh", "-c", peer.script, "sh", target, programs.handler, reports.path, own], bed: bed)
        return try Side(daemon, reports, .path, target, phase: 0, programs, bed)
    }

    /// What must be there before the daemon.
    private static func makeTarget(_ kind: Kind, _ target: String) throws {
        switch kind {
        case .path:
            try Linux.mkdir(target)
            try Linux.open("\(target)/file", [.writing, .creating]).close()
        case .fifo: try Linux.mkfifo(target)
        case .exit: try Linux.open(target, [.writing, .creating]).close()
        case .signal, .timer: break
        }
    }

    private init(
        _ daemon: Daemon, _ reports: Reports, _ kind: Kind, _ target: String, phase: Int64, _ programs: Programs,
        _ bed: Bed
    ) throws {
        self.daemon = daemon
        self.reports = reports
        self.phase = phase
        self.bed = bed
        do {
            stimulus =
                switch kind {
                case .path: FileStimulus("\(target)/file")
                case .fifo: try FIFOStimulus(target)
                case .signal: SignalStimulus(daemon)
                case .exit: ExitStimulus(program: programs.handler, pidFile: target, daemon, bed)
                case .timer: nil
                }
        } catch {
            daemon.stop()
            throw error
        }
    }

    /// Makes one event (for a timer: waits for the next) and waits for its handler; µs between the two.
    func latency(gap: Int) throws -> Int64 {
        defer { daemon.drainNotifications() }
        guard let stimulus else { return sinceElapse(try reports.next()) }
        try stimulus.prepare()
        try bed.pause(milliseconds: gap)
        let fired = try stimulus.fire()
        return try reports.next() - fired
    }

    func stop() {
        daemon.stop()
        reports.close()
    }

    /// The grid is one of the boot-time clock, which differs from the monotonic one by the time of suspends.
    private func sinceElapse(_ time: Int64) -> Int64 {
        let bootTime = time + Linux.now(.boottime) - Linux.now(.monotonic)
        return (bootTime - phase) % LatencyBenchmark.timerPeriod
    }
}
