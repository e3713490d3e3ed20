/// Operations through the engine, with few and many that wait; and beside Dispatch and `OperationQueue`.
struct QueueBenchmark {
    struct Settings {
        var rounds = 5
        /// Of each round, for each load.
        var operations = 50_000
        /// Only this side of `BesideBenchmark` is run, once, for a profiler.
        var only: Contender?
        /// Of that; 1: serial.
        var width = 1
    }

    /// Operations that wait.
    static let levels = [1, 1000, 100_000]
    static let queueCounts = [1, 1000]

    let settings: Settings

    init(_ settings: Settings) { self.settings = settings }

    func run() throws -> QueueResult {
        let machine = Machine()
        // Before Dispatch has threads.
        _ = Instructions.means
        var loads: [(queues: Int, pending: Int, load: EngineLoad, times: [Double])] = []
        for queues in Self.queueCounts {
            for pending in Self.levels {
                loads.append((queues, pending, try EngineLoad(pending: pending, queues: queues), []))
            }
        }
        for _ in 0..<settings.rounds {
            for index in loads.indices {
                loads[index].times.append(try loads[index].load.run(operations: settings.operations))
            }
        }
        return QueueResult(
            machine: machine, rounds: settings.rounds, operations: settings.operations,
            loads: loads.map {
                QueueResult.OfLoad(
                    queues: $0.queues, pending: $0.pending, times: $0.times, bytes: $0.load.bytesPerOperation)
            }, beside: try BesideBenchmark(settings: settings).run())
    }
}
