/// The command line, understood.
struct Invocation {
    enum Verb: String, CaseIterable {
        case latency, idle, queue, timers, calendar, exit, store, lines, spawn, stream, budget, peers
        case burst, tree, checkout

        static let list = allCases.map(\.rawValue).joined(separator: ", ")
    }

    static let usage = """
        watchd-bench latency [--kind KIND] [--rounds N] [--events N] [--gap MS] [--json] [--watchd PATH]
        watchd-bench idle [--seconds N] [--runs N] [--starts N] [--json] [--watchd PATH]
        watchd-bench queue [--rounds N] [--operations N] [--only SIDE [--width N]] [--json]
        watchd-bench timers [--timers N] [--seconds N] [--rounds N] [--json]
        watchd-bench calendar [--elapses N] [--rounds N] [--json]
        watchd-bench exit [--processes N] [--rounds N] [--json] [--watchd PATH]
        watchd-bench store [--part PART] [--rounds N] [--operations N] [--events N] [--pending N] [--records N]
                           [--starts N] [--queries N] [--json] [--watchd PATH]
        watchd-bench lines [--rounds N] [--lines N] [--json] [--watchd PATH]
        watchd-bench spawn [--rounds N] [--operations N] [--width N] [--json] [--watchd PATH]
        watchd-bench stream [--rounds N] [--lines N] [--events N] [--json] [--watchd PATH]
        watchd-bench budget
        watchd-bench peers [--rounds N] [--events N] [--json] [--watchd PATH]
        watchd-bench burst [--files N] [--folders N] [--rounds N] [--only WATCHER] [--json] [--watchd PATH]
        watchd-bench tree [--folders N] [--files N] [--events N] [--rounds N] [--json] [--watchd PATH]
        watchd-bench checkout [--files N] [--settle MS] [--rounds N] [--json] [--watchd PATH]

        latency   from an event to the moment its handler begins, for watchd and for a floor in C, in turn
          --kind      path, fifo, signal, exit or timer; without it all of them
          --rounds    rounds of each kind (5)
          --events    events of a round, for each of the two (200)
          --gap       ms of quiet before each event (3); of paths at least 55

        idle      what watchd does when nothing happens, and how long it takes to start
          --seconds   how long it is watched, just started and again after the burst (30)
          --runs      handlers run in the burst (5000)
          --starts    starts that are timed (20)

        queue     operations through the engine alone, no process: submitted, started, ended, while 1, 1 000 and
                  100 000 others wait, on one queue and over 1 000 queues, each in turn; then the same work by the
                  engine, by Dispatch and by Foundation's OperationQueue, with ratios and instructions
          --rounds      rounds of each (5)
          --operations  operations of a round (50000)
          --only        run only one side of that, once, for a profiler: engine, dispatch or operation-queue
          --width       of its queue; 1 is serial (1)

        timers    many periodic timers through the engine alone, no process, beside as many of Dispatch's, in turn
          --timers      how many; each elapses every 10 s (100000)
          --seconds     of a round, for each of the two (10)
          --rounds      rounds of each (3)

        calendar  the next elapse of calendar expressions, no process
          --elapses     elapses of a round, for each expression (10000)
          --rounds      rounds of each (5)

        exit      many processes that are watched and all end at once, beside a bare epoll loop, in turn
          --processes   how many (10000)
          --rounds      rounds of each (3)

        store     durable operations beside bare SQLite, what a queue that is not durable pays for them, and start and
                  history of a large store (of 0.4 GB, in TMPDIR)
          --part        rates, neighbours or large; without it all of them
          --rounds      rounds of each (5)
          --operations  operations of a round (2000)
          --events      events of a round of the queue beside the durable one (100)
          --pending     operations that wait in the large store (100000)
          --records     runs in its history (1000000)
          --starts      starts of it that are timed, of each kind (5)
          --queries     questions of each kind (20)

        lines     lines from a FIFO into an operation, beside cat and an epoll loop in C, in turn
          --rounds      rounds of each (3)
          --lines       lines of a round, in thousands (1000)

        spawn     pending operations of a program that does nothing, drained; beside a loop in C as wide, in turn; for
                  root with a cgroup for each run and with User=nobody too
          --rounds      rounds of each (3)
          --operations  of a round, a multiple of 100 (5000)
          --width       how many at once (4)

        stream    events into a worker in C, with and without Ack=, beside a program in C that pipes lines, in turn
          --rounds      rounds of each (3)
          --lines       lines of a round from a FIFO, in thousands (200)
          --events      events of a round from four clients (20000)

        budget    ten operations on the way of an event, for Tests/Benchmarks/check-budget, which counts their
                  instructions; without it there is nothing to see

        peers     from the close of a file to the moment its handler begins, for watchd and, where it is installed,
                  for a loop of inotifywait, in turn
          --rounds    rounds of each (5)
          --events    events of a round, for each of them (200)

        burst     many new files at once: which of them watchd, a loop in C, inotifywait and incron tell of, in turn, and
                  on how much of a processor
          --files     new files (60000)
          --folders   that they are made in, below the one that is watched; 0: in that one (0)
          --rounds    rounds of each (3)
          --only      watchd, floor, inotifywait or incron; without it all of them

        tree      a large tree: time to be armed beside a loop in C and inotifywait, memory a folder and a file, and what
                  an event costs then
          --folders   folders (100000)
          --files     in each of them (5)
          --events    files that are made when it is armed (10000)
          --rounds    rounds of each (3)

        checkout  a git checkout, from its end to the start of the handler that gets all of its files
          --files     that it changes (50000)
          --settle    SettleSec=, in ms (200)
          --rounds    checkouts (3)

          --json      one JSON object instead of the table
          --watchd    the program to measure (that beside watchd-bench)

        To be built with: swift build -c release --static-swift-stdlib
        Exit status: 0 measured, 1 could not be measured, 2 wrong usage.
        """

    private(set) var verb = Verb.latency
    private(set) var wantsHelp = false
    private(set) var isJSON = false
    private(set) var watchd: String?
    private(set) var latency = LatencyBenchmark.Settings()
    private(set) var idle = IdleBenchmark.Settings()
    private(set) var exit = ExitBenchmark.Settings()
    private(set) var queue = QueueBenchmark.Settings()
    private(set) var timers = TimerBenchmark.Settings()
    private(set) var calendar = CalendarBenchmark.Settings()
    private(set) var lines = LinesBenchmark.Settings()
    private(set) var spawn = SpawnBenchmark.Settings()
    private(set) var stream = StreamBenchmark.Settings()
    private(set) var store = StoreBenchmark.Settings()
    private(set) var burst = BurstBenchmark.Settings()
    private(set) var tree = TreeBenchmark.Settings()
    private(set) var checkout = CheckoutBenchmark.Settings()

    /// - Parameter arguments: without the program's name.
    /// - Throws: a usage error.
    init(arguments: [String]) throws(Failure) {
        var rest = arguments[...]
        var name: String?
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("-") else {
                if name != nil { throw .usage("there is no use for “\(argument)”") }
                name = argument
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            var isValueTaken = parts.count == 1
            try take(parts[0], verb: name) {
                isValueTaken = true
                return parts.count > 1 ? parts[1] : rest.popFirst()
            }
            if !isValueTaken { throw .usage("\(parts[0]) takes no value") }
        }
        if wantsHelp { return }
        guard let name else { throw .usage("what is to be measured? \(Verb.list)") }
        guard let verb = Verb(rawValue: name) else { throw .usage("there is no “\(name)”, only \(Verb.list)") }
        self.verb = verb
    }

    private mutating func take(_ option: String, verb: String?, value: () -> String?) throws(Failure) {
        switch (option, verb) {
        case ("--help", _), ("-h", _): wantsHelp = true
        case ("--json", _): isJSON = true
        case ("--watchd", _):
            guard let path = value(), !path.isEmpty else { throw .usage("--watchd needs a path") }
            watchd = path
        case ("--kind", "latency"):
            let text = value() ?? ""
            guard let kind = Kind(rawValue: text) else {
                throw .usage("--kind is one of \(Kind.allCases.map(\.rawValue).joined(separator: " ")), not “\(text)”")
            }
            latency.kinds = [kind]
        case ("--rounds", "latency"): latency.rounds = try number(option, value(), 1...1000)
        case ("--events", "latency"): latency.events = try number(option, value(), 1...1_000_000)
        case ("--rounds", "peers"): latency.rounds = try number(option, value(), 1...1000)
        case ("--events", "peers"): latency.events = try number(option, value(), 1...1_000_000)
        case ("--gap", "latency"): latency.gap = try number(option, value(), 0...60_000)
        case ("--rounds", "queue"): queue.rounds = try number(option, value(), 1...1000)
        case ("--operations", "queue"): queue.operations = try number(option, value(), 1...1_000_000)
        case ("--width", "queue"): queue.width = try number(option, value(), 1...1000)
        case ("--only", "queue"):
            let text = value() ?? ""
            guard let side = Contender(rawValue: text) else {
                let names = Contender.allCases.map(\.rawValue).joined(separator: " ")
                throw .usage("--only is one of \(names), not “\(text)”")
            }
            queue.only = side
        case ("--timers", "timers"): timers.timers = try number(option, value(), 1...1_000_000)
        case ("--seconds", "timers"): timers.seconds = try number(option, value(), 1...3600)
        case ("--rounds", "timers"): timers.rounds = try number(option, value(), 1...1000)
        case ("--elapses", "calendar"): calendar.elapses = try number(option, value(), 1...10_000_000)
        case ("--rounds", "calendar"): calendar.rounds = try number(option, value(), 1...1000)
        case ("--processes", "exit"): exit.processes = try number(option, value(), 1...90_000)
        case ("--rounds", "exit"): exit.rounds = try number(option, value(), 1...1000)
        case ("--seconds", "idle"): idle.seconds = try number(option, value(), 1...86_400)
        case ("--runs", "idle"): idle.runs = try number(option, value(), 1...1_000_000)
        case ("--starts", "idle"): idle.starts = try number(option, value(), 1...1000)
        case ("--rounds", "lines"): lines.rounds = try number(option, value(), 1...1000)
        case ("--lines", "lines"): lines.lines = 1000 * (try number(option, value(), 1...1_000_000))
        case ("--rounds", "spawn"): spawn.rounds = try number(option, value(), 1...1000)
        case ("--operations", "spawn"): spawn.operations = 100 * (try number(option, value(), 100...800_000) / 100)
        case ("--width", "spawn"): spawn.width = try number(option, value(), 1...1000)
        case ("--rounds", "stream"): stream.rounds = try number(option, value(), 1...1000)
        case ("--lines", "stream"): stream.lines = 1000 * (try number(option, value(), 1...100_000))
        case ("--events", "stream"): stream.events = try number(option, value(), 4...10_000_000)
        case (_, "store"): try takeStore(option, value)
        case (_, "burst"): try takeBurst(option, value)
        case (_, "tree"): try takeTree(option, value)
        case (_, "checkout"): try takeCheckout(option, value)
        default: throw .usage("there is no option \(option)" + (verb.map { " of \($0)" } ?? " before the verb"))
        }
    }

    private mutating func takeStore(_ option: String, _ value: () -> String?) throws(Failure) {
        switch option {
        case "--part":
            let text = value() ?? ""
            guard let part = StoreBenchmark.Part(rawValue: text) else {
                let names = StoreBenchmark.Part.allCases.map(\.rawValue).joined(separator: " ")
                throw .usage("--part is one of \(names), not “\(text)”")
            }
            store.parts = [part]
        case "--rounds": store.rounds = try number(option, value(), 1...1000)
        case "--operations": store.operations = try number(option, value(), 1...1_000_000)
        case "--events": store.events = try number(option, value(), 1...1_000_000)
        case "--pending": store.pending = try number(option, value(), 100...1_000_000)
        case "--records": store.records = try number(option, value(), 200_000...10_000_000)
        case "--starts": store.starts = try number(option, value(), 1...1000)
        case "--queries": store.queries = try number(option, value(), 1...1_000_000)
        default: throw .usage("there is no option \(option) of store")
        }
    }

    private mutating func takeBurst(_ option: String, _ value: () -> String?) throws(Failure) {
        switch option {
        case "--files": burst.files = try number(option, value(), 1...10_000_000)
        case "--folders": burst.folders = try number(option, value(), 0...100_000)
        case "--rounds": burst.rounds = try number(option, value(), 1...1000)
        case "--only":
            let text = value() ?? ""
            guard let watcher = Watcher(rawValue: text) else {
                let names = Watcher.allCases.map(\.rawValue).joined(separator: " ")
                throw .usage("--only is one of \(names), not “\(text)”")
            }
            burst.only = watcher
        default: throw .usage("there is no option \(option) of burst")
        }
    }

    private mutating func takeTree(_ option: String, _ value: () -> String?) throws(Failure) {
        switch option {
        case "--folders": tree.folders = try number(option, value(), 1...10_000_000)
        case "--files": tree.files = try number(option, value(), 0...1000)
        case "--events": tree.events = try number(option, value(), 1...1_000_000)
        case "--rounds": tree.rounds = try number(option, value(), 1...1000)
        default: throw .usage("there is no option \(option) of tree")
        }
    }

    private mutating func takeCheckout(_ option: String, _ value: () -> String?) throws(Failure) {
        switch option {
        case "--files": checkout.files = try number(option, value(), 1...1_000_000)
        case "--settle": checkout.settle = try number(option, value(), 1...60_000)
        case "--rounds": checkout.rounds = try number(option, value(), 1...1000)
        default: throw .usage("there is no option \(option) of checkout")
        }
    }

    private func number(_ option: String, _ text: String?, _ range: ClosedRange<Int>) throws(Failure) -> Int {
        guard let text, let number = Int(text), range.contains(number) else {
            throw .usage("\(option) is a number from \(range.lowerBound) to \(range.upperBound), not “\(text ?? "")”")
        }
        return number
    }
}
