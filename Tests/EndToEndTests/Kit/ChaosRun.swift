import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import SeedKit
import Testing
import Varlink

/// Rounds of trouble for a daemon under load, by a seed.
struct ChaosRun {
    enum Trouble: String, CaseIterable {
        case kill
        case killAll = "kill all"
        case killEarly = "kill at start"
        case stop, hurry, watchdog, freeze
        case hangUp = "SIGHUP"
        case reload
        case disk, suspend, signals

        /// How often it comes, beside the others.
        var weight: Int {
            switch self {
            case .kill: 6
            case .killAll, .stop, .watchdog, .reload, .hangUp, .disk: 3
            case .killEarly, .hurry, .freeze, .suspend, .signals: 2
            }
        }
    }

    let lives: Lives
    let load: ChaosLoad
    private var random: SeededGenerator
    private(set) var counts: [Trouble: Int] = [:]
    private var reloads = 0
    /// What was suspended and not resumed.
    private var suspended: [String] = []
    private let troubles: [Trouble]

    init(_ lives: Lives, _ load: ChaosLoad, seed: UInt64) {
        (self.lives, self.load) = (lives, load)
        random = SeededGenerator(seed: seed)
        troubles = Trouble.allCases.flatMap { trouble -> [Trouble] in
            if trouble == .disk, lives.disk == nil { return [] }
            return Array(repeating: trouble, count: trouble.weight)
        }
    }

    /// Troubles that have not come yet, of those that can.
    var missing: [String] { Set(troubles).filter { counts[$0] == nil }.map(\.rawValue).sorted() }

    // MARK: Rounds

    /// Some load, then one trouble.
    mutating func round() throws {
        let wanted = load.sent.count + random.upTo(40)
        // It may not come: the disk is full, or a queue.
        _ = try? wait(for: "some load", seconds: 1) { load.sent.count >= wanted }
        if random.chance(30) { _ = try lives.watchd.status() }
        try mend()
        let trouble = random.pick(troubles)
        counts[trouble, default: 0] += 1
        try make(trouble)
        #expect(!lives.watchd.hasEnded, "watchd ended by itself after \(trouble)")
    }

    /// Some of what was done before does not last, or there would soon be no load any more.
    private mutating func mend() throws {
        if random.chance(50), let disk = lives.disk, disk.isFull { try disk.free() }
        if random.chance(50), let name = suspended.popLast() { try call(Resume.self, .init(name: name)) }
    }

    private mutating func suspend() throws {
        let name = "queue/" + random.pick(Self.queues)
        suspended.append(name)
        try call(Suspend.self, .init(name: name))
    }

    private mutating func make(_ trouble: Trouble) throws {
        switch trouble {
        case .kill:
            lives.kill()
            try lives.start()
        case .killAll:
            try lives.killAll()
            try lives.start()
        case .killEarly:
            lives.kill()
            try lives.start(untilReady: false)
            pause(random.upTo(40))
            lives.kill()
            try lives.start()
        case .stop:
            lives.stop()
            try lives.start()
        case .hurry:
            lives.watchd.send(SIGTERM)
            pause(random.upTo(5))
            lives.watchd.send(SIGTERM)
            #expect(lives.watchd.waitForEnd() == .exited(0))
            try lives.start()
        case .watchdog:
            try lives.watchd.hang(takesAbort: random.chance(50))
            try lives.start()
        case .freeze:
            lives.watchd.send(SIGSTOP)
            pause(random.upTo(200))
            lives.watchd.send(SIGCONT)
        case .hangUp:
            try changeFile()
            lives.watchd.send(SIGHUP)
        case .reload: try reload()
        case .disk: try toggleDisk()
        case .suspend: try suspend()
        case .signals:
            for value in 0..<Int32(random.upTo(10)) { sigqueue(lives.watchd.processID, 35, sigval(sival_int: value)) }
        }
    }

    /// A pause, not a wait: trouble comes at any moment.
    private func pause(_ milliseconds: Int) { _ = poll(nil, 0, Int32(milliseconds)) }

    private mutating func changeFile() throws {
        reloads += 1
        try lives.write("\(Self.text)[Custom more\(reloads)]\nLog=more\n")
    }

    private mutating func reload() throws {
        try changeFile()
        guard lives.disk?.isFull != true else { return lives.watchd.send(SIGHUP) }
        try lives.watchd.call(Reload.self, .init())
    }

    private func toggleDisk() throws {
        guard let disk = lives.disk else { return }
        if disk.isFull { try disk.free() } else { try disk.fill() }
    }

    /// With a full disk it may wait, which is no business of this thread.
    private func call<Method: ControlMethod>(_ method: Method.Type, _ parameters: Method.Parameters) throws {
        let client = try lives.watchd.connect()
        do {
            _ = try client.call(Method.fullName, parameters, timeout: 500)
        } catch ClientError.remote, ClientError.timedOut {
            // Not suspended, or it waits for the disk.
        }
    }

    // MARK: The end

    /// Ends all trouble, so that all that was accepted can come to its end.
    func calm() throws {
        if let disk = lives.disk, disk.isFull { try disk.free() }
        try wait(for: "the store to work", seconds: 120) { try lives.watchd.status().store?.state == .working }
        for queue in Self.queues {
            while try lives.watchd.queue(queue).suspended > 0 { try lives.watchd.resume("queue/\(queue)") }
        }
    }
}
