/// What `watchd-bench idle` tells; times in µs, memory in KiB.
struct IdleResult: Encodable, CustomStringConvertible {
    /// What happened while nothing was to happen.
    struct Window: Encodable {
        /// Times a thread was put on a processor, all threads together.
        var wakeUps: Int
        var contextSwitches: Int
        var runTime: Double
        var threads: Int
        /// Wake-ups of the threads that had some, by name and number.
        var woken: [String: Int]
        var pss: Int
        var pssAnonymous: Int
        var pssFile: Int
        var privateDirty: Int
        var rss: Int

        init(from before: ProcessFigures, to after: ProcessFigures) {
            (wakeUps, contextSwitches, runTime) = (0, 0, 0)
            woken = [:]
            threads = after.threads.count
            for (number, thread) in after.threads {
                let old = before.threads[number]
                let voluntary = thread.voluntary - (old?.voluntary ?? 0)
                let switches = voluntary + thread.involuntary - (old?.involuntary ?? 0)
                // A thread that wakes up and sleeps again was put on a processor, and gives it up by itself.
                let count = max(voluntary, thread.timeslices - (old?.timeslices ?? 0))
                wakeUps += count
                contextSwitches += switches
                runTime += Double(thread.runTime - (old?.runTime ?? 0)) / 1000
                if count > 0 { woken["\(thread.name) \(number)"] = count }
            }
            // One that has left must have run to do so.
            for (number, thread) in before.threads where after.threads[number] == nil {
                wakeUps += 1
                woken["\(thread.name) \(number), gone"] = 1
            }
            pss = after.memory["Pss"] ?? 0
            pssAnonymous = after.memory["Pss_Anon"] ?? 0
            pssFile = after.memory["Pss_File"] ?? 0
            privateDirty = after.memory["Private_Dirty"] ?? 0
            rss = after.memory["Rss"] ?? 0
        }
    }

    struct Targets: Encodable {
        var wakeUps = 0
        /// KiB.
        var pss = 10 * 1024
        /// µs.
        var startToReady = 20_000
    }

    var watchd: String
    var machine: Machine
    var seconds: Int
    var starts: Int
    var startToReady: Rounds
    var fresh: Window
    var runs: Int
    /// From the first event to the moment the last handler began.
    var burst: Int64
    var afterBurst: Window
    var targets = Targets()

    var description: String {
        var table = Table()
        table.add("", "fresh", "after \(runs) runs", "target")
        add(to: &table, "wake-ups in \(seconds) s", target: "\(targets.wakeUps)") { "\($0.wakeUps)" }
        add(to: &table, "context switches in \(seconds) s") { "\($0.contextSwitches)" }
        add(to: &table, "time on a processor") { "\(($0.runTime / 1000).text(2)) ms" }
        add(to: &table, "threads") { "\($0.threads)" }
        add(to: &table, "PSS", target: "≤ \(size(targets.pss))") { size($0.pss) }
        add(to: &table, "  of it anonymous") { size($0.pssAnonymous) }
        add(to: &table, "  of it files") { size($0.pssFile) }
        add(to: &table, "private dirty") { size($0.privateDirty) }
        add(to: &table, "RSS") { size($0.rss) }
        let woken = [("fresh", fresh), ("after the runs", afterBurst)].flatMap { name, window in
            window.woken.sorted { $0.key < $1.key }.map { "\nwoken, \(name): \($0.key): \($0.value) times" }
        }
        return """
            \(watchd), idle
            \(machine)

            \(table)
            \(woken.joined())
            start to READY: \(time(startToReady.median)) (\(time(startToReady.low))–\(time(startToReady.high))) \
            in \(starts) starts; target ≤ \(time(Double(targets.startToReady)))
            burst: \(runs) runs in \((Double(burst) / 1_000_000).text(2)) s, \
            \((Double(runs) / (Double(max(1, burst)) / 1_000_000)).text(0)) a second
            """
    }

    private func add(to table: inout Table, _ name: String, target: String = "", _ value: (Window) -> String) {
        table.add(name, value(fresh), value(afterBurst), target)
    }

    private func size(_ kibibytes: Int) -> String { "\((Double(kibibytes) / 1024).text(1)) MB" }

    private func time(_ microseconds: Double) -> String { "\((microseconds / 1000).text(1)) ms" }
}
