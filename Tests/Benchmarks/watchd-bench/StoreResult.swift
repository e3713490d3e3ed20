/// What `watchd-bench store` tells; times in µs, memory in KiB.
struct StoreResult: Encodable {
    /// One kind of work, round by round.
    struct Rate: Encodable {
        var work: DurableRates.Work
        var load: DurableRates.Load
        /// Operations a second.
        private(set) var watchd: [Double] = []
        private(set) var bare: [Double] = []
        /// Of operations that are not durable.
        private(set) var plain: [Double] = []
        private(set) var operationsPerTransaction: [Double] = []

        init(work: DurableRates.Work, load: DurableRates.Load) { (self.work, self.load) = (work, load) }

        mutating func add(operations: Int, _ transactions: Int, watchd: Int64, bare: Int64, plain: Int64) {
            self.watchd.append(Double(operations) * 1_000_000 / Double(max(1, watchd)))
            self.bare.append(Double(operations) * 1_000_000 / Double(max(1, bare)))
            self.plain.append(Double(operations) * 1_000_000 / Double(max(1, plain)))
            operationsPerTransaction.append(Double(operations) / Double(max(1, transactions)))
        }

        var ratio: Rounds { Rounds(zip(watchd, bare).map { $0 / $1 }) }
        /// To a call that is not durable and bare SQLite, one after the other.
        var ratioToBoth: Rounds {
            Rounds(zip(watchd, zip(plain, bare)).map { $0 * (1 / $1.0 + 1 / $1.1) })
        }
    }

    /// From an event of a plain queue to its handler, by what is beside it.
    struct Delays: Encodable {
        private(set) var alone: [Percentiles] = []
        private(set) var besidePlain: [Percentiles] = []
        private(set) var besideDurable: [Percentiles] = []

        mutating func add(_ alone: Percentiles, _ plain: Percentiles, _ durable: Percentiles) {
            self.alone.append(alone)
            besidePlain.append(plain)
            besideDurable.append(durable)
        }

        func ratio(_ part: KeyPath<Percentiles, Int64>) -> Rounds {
            Rounds(zip(besideDurable, besidePlain).map { Double($0[keyPath: part]) / Double($1[keyPath: part]) })
        }
    }

    /// Operations a second of a plain queue.
    struct History: Encodable {
        private(set) var on: [Double] = []
        private(set) var off: [Double] = []

        mutating func add(operations: Int, on: Int64, off: Int64) {
            self.on.append(Double(operations) * 1_000_000 / Double(max(1, on)))
            self.off.append(Double(operations) * 1_000_000 / Double(max(1, off)))
        }

        var ratio: Rounds { Rounds(zip(on, off).map { $0 / $1 }) }
    }

    struct Query: Encodable {
        var name: String
        var times: [Int64]
    }

    struct Large: Encodable {
        var cleanStarts: [Int64] = []
        var uncleanStarts: [Int64] = []
        /// Resident after an unclean start.
        var memory = 0
        /// Of the first durable events after a start.
        var slowestEmit: Int64 = 0
        var queries: [Query] = []
    }

    struct Targets: Encodable {
        /// Of watchd's rate over that of bare SQLite, at least.
        var ratio = 0.7
        /// µs to READY.
        var start: Int64 = 1_000_000
        /// µs for an answer, the slowest.
        var query: Int64 = 50_000
    }

    var watchd: String
    var machine: Machine
    var loadAfter = 0.0
    var settings: StoreBenchmark.Settings
    /// What was not asked for is `nil`.
    var rates: [Rate]?
    var delays: Delays?
    var history: History?
    var large: Large?
    var targets = Targets()

    init(watchd: String, machine: Machine, settings: StoreBenchmark.Settings) {
        (self.watchd, self.machine, self.settings) = (watchd, machine, settings)
    }

    private enum CodingKeys: CodingKey {
        case watchd, machine, loadAfter, rates, delays, history, large, targets
    }
}
