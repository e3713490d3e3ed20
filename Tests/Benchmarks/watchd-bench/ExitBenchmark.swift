import Glibc
import LinuxSystem

/// Many processes that are watched at once, and all end in one burst.
struct ExitBenchmark {
    struct Settings {
        var processes = 10_000
        var rounds = 3
    }

    /// Processes that one source watches here: a pid file that names ever new ones keeps sixteen in sight.
    private static let processesPerSource = 10
    /// ms until all are watched, and until all ends are told.
    private static let patience = 300_000

    let programs: Programs
    let bed: Bed
    let settings: Settings

    init(programs: Programs, bed: Bed, _ settings: Settings) {
        self.programs = programs
        self.bed = bed
        self.settings = settings
    }

    func run() throws -> ExitResult {
        try Linux.raiseOpenFileLimit()
        let needed = UInt64(settings.processes) + 200
        let limit = try Linux.openFileLimit().hard
        guard limit >= needed else {
            throw Failure(message: "RLIMIT_NOFILE allows \(limit) descriptors, and \(needed) are needed")
        }
        let machine = Machine()
        var (daemon, floor): ([ExitResult.Round], [ExitResult.Round]) = ([], [])
        for round in 0..<settings.rounds {
            floor.append(try measureFloor())
            daemon.append(try measureDaemon(round))
        }
        return ExitResult(
            watchd: programs.watchd, machine: machine, processes: settings.processes, watched: daemon, floor: floor)
    }

    // MARK: The processes

    private func start() throws -> [Int32] {
        var started: [Int32] = []
        do {
            for _ in 0..<settings.processes {
                let spawned = try Linux.spawn(
                    SpawnSpecification(
                        path: Array(programs.handler.utf8),
                        arguments: [Array(programs.handler.utf8), Array("--wait".utf8)], environment: [],
                        descriptors: []))
                started.append(spawned.processID)
                FileDescriptor(owning: spawned.pidfd.release()).close()
            }
        } catch {
            end(started)
            throw error
        }
        return started
    }

    private func end(_ processes: [Int32]) {
        for process in processes { try? Linux.kill(process: process, signal: SIGKILL) }
    }

    // MARK: watchd

    private func measureDaemon(_ round: Int) throws -> ExitResult.Round {
        let folder = try bed.makeFolder("exit-\(round)")
        let sources = (settings.processes + Self.processesPerSource - 1) / Self.processesPerSource
        let processes = try start()
        defer { end(processes) }
        let daemon = try Daemon("exit", [programs.watchd, try writeFile(folder, sources)], bed: bed)
        defer { daemon.stop() }
        for first in stride(from: 0, to: processes.count, by: sources) {
            for (source, process) in processes[first..<min(first + sources, processes.count)].enumerated() {
                try Linux.open("\(folder)/\(source)", [.writing, .creating, .truncating]).use {
                    try Linux.writeAll($0, Array("\(process)\n".utf8))
                }
            }
            let wanted = min(first + sources, processes.count)
            try wait("\(wanted) processes to be watched") { Self.descriptors(daemon.processID) >= wanted }
        }
        let log = "\(bed.folder)/exit.log"
        let before = try ProcessFigures(daemon.processID)
        let began = Bed.now
        end(processes)
        try wait("\(processes.count) ends to be told") { Self.told(log) >= processes.count }
        let time = Bed.now - began
        let after = try ProcessFigures(daemon.processID)
        let running = { (figures: ProcessFigures) in figures.threads.values.reduce(0) { $0 + $1.runTime } }
        return ExitResult.Round(
            time: time, processor: Double(running(after) - running(before)) / 1000 / Double(processes.count),
            memory: before.memory["Pss"] ?? 0)
    }

    private func writeFile(_ folder: String, _ sources: Int) throws -> String {
        let head = """
            [Watchd]
            ControlSocket=\(folder)/control
            StateDirectory=\(folder)/state
            LogLevel=notice
            [Handler tell]
            Log=told %{pid}

            """
        let text = (0..<sources).map { "[Process p\($0)]\nPIDFile=\(folder)/\($0)\nCoalesce=no\nHandler=tell\n" }
        let file = "\(folder)/bench.watch"
        try Linux.open(file, [.writing, .creating, .truncating]).use {
            try Linux.writeAll($0, Array((head + text.joined()).utf8))
        }
        return file
    }

    private func wait(_ what: String, until isSo: () -> Bool) throws {
        guard try bed.wait(milliseconds: Self.patience, until: isSo) else {
            throw Failure(message: "waited \(Self.patience / 1000) s in vain for \(what)")
        }
    }

    /// pidfds that it has.
    private static func descriptors(_ process: Int32) -> Int {
        let folder = "/proc/\(process)/fd"
        return ((try? Linux.readFolder(folder)) ?? []).count { entry in
            let target = try? Linux.readlink("\(folder)/\(String(decoding: entry.name, as: UTF8.self))")
            return target?.elementsEqual("anon_inode:[pidfd]".utf8) ?? target?.starts(with: "pidfd:".utf8) ?? false
        }
    }

    /// Lines that say so.
    private static func told(_ log: String) -> Int {
        ((try? Linux.readFile(log, limit: 64 << 20)) ?? []).split(separator: UInt8(ascii: "\n")).count {
            String(decoding: $0, as: UTF8.self).contains("tell: told ")
        }
    }

    // MARK: The floor

    /// pidfds in an epoll set, and nothing else.
    private func measureFloor() throws -> ExitResult.Round {
        let processes = try start()
        defer { end(processes) }
        let set = try Linux.epollCreate().release()
        var pidfds: [Int32] = []
        defer { for descriptor in pidfds + [set] { FileDescriptor(owning: descriptor).close() } }
        for (index, process) in processes.enumerated() {
            pidfds.append(try Linux.pidfdOpen(process).release())
            try Linux.epollAdd(set, pidfds[index], .readable, token: UInt64(index))
        }
        let began = Bed.now
        end(processes)
        let start = Linux.threadTime
        var ended = 0
        while ended < processes.count {
            for report in try Linux.epollWait(set, atMost: 64, timeout: 10_000) {
                _ = try? Linux.pidfdInfo(pidfds[Int(report.token)])
                try Linux.epollRemove(set, pidfds[Int(report.token)])
                ended += 1
            }
        }
        let processor = Double(Linux.threadTime - start) / 1000 / Double(processes.count)
        return ExitResult.Round(time: Bed.now - began, processor: processor, memory: 0)
    }
}
