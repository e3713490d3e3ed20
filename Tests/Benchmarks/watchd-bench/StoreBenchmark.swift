import LinuxSystem

/// What durability costs: operations a second beside bare SQLite, the neighbours, and a large store.
struct StoreBenchmark {
    enum Part: String, CaseIterable {
        case rates, neighbours, large
    }

    struct Settings {
        var parts = Part.allCases
        var rounds = 5
        /// Of each round, for each kind and each of the two.
        var operations = 2000
        /// Lines of each round of the neighbour, for each load beside it.
        var events = 100
        /// Operations that wait in the large store, and runs in its history.
        var pending = 100_000
        var records = 1_000_000
        /// Starts of the large store of each kind.
        var starts = 5
        /// Questions of each kind.
        var queries = 20
    }

    let programs: Programs
    let bed: Bed
    let settings: Settings

    init(programs: Programs, bed: Bed, _ settings: Settings) {
        self.programs = programs
        self.bed = bed
        self.settings = settings
    }

    func run() throws -> StoreResult {
        var result = StoreResult(watchd: programs.watchd, machine: Machine(), settings: settings)
        for part in settings.parts {
            switch part {
            case .rates: result.rates = try DurableRates(programs: programs, bed: bed, settings).measure()
            case .neighbours:
                let neighbours = NeighbourCost(programs: programs, bed: bed, settings)
                result.delays = try neighbours.measureDelays()
                result.history = try neighbours.measureHistory()
            case .large: result.large = try LargeStore(programs: programs, bed: bed, settings).measure()
            }
        }
        result.loadAfter = Machine().load
        return result
    }
}
