import LinuxSystem

/// The same work by the engine, by Dispatch and by Foundation's `OperationQueue`, in turn.
struct BesideBenchmark {
    let settings: QueueBenchmark.Settings

    func run() throws -> BesideResult {
        let means = Instructions.means
        var sides: [BesideResult.OfSide] = []
        for width in Contender.widths {
            let works = Contender.allCases.map { ($0, $0.makeWork(width: width)) }
            var rounds: [[BesideResult.Round]] = works.map { _ in [] }
            for round in 0...settings.rounds {
                for (index, (_, work)) in works.enumerated() {
                    let (began, start) = (Linux.now(.monotonic), TimerBenchmark.processorTime)
                    try work.run(operations: settings.operations)
                    let processor = Double(TimerBenchmark.processorTime - start) / Double(settings.operations)
                    let time = Double(Linux.now(.monotonic) - began) * 1000 / Double(settings.operations)
                    // The first round pays for what is made once.
                    if round > 0 { rounds[index].append(BesideResult.Round(processor: processor, time: time)) }
                }
            }
            for (index, (contender, _)) in works.enumerated() {
                sides.append(
                    BesideResult.OfSide(
                        contender: contender, width: width, rounds: rounds[index],
                        instructions: try means.map {
                            try Instructions.perOperation(contender, width: width, $0)
                        }))
            }
        }
        return BesideResult(means: means, sides: sides)
    }
}
