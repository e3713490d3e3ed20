/// Plays an operation program on both sides and compares them at each standstill.
struct OperationComparison {
    private var ledger: OperationLedger
    private var engine: OperationEngineSide
    private let foundation: OperationSide
    /// What was really done, in words.
    private var script: [String] = []

    /// `nil`: none.
    static func difference(
        in program: OperationProgram, fault: OperationEngineSide.Fault? = nil
    ) throws -> Difference? {
        var comparison = OperationComparison(program, fault)
        do throws(Difference) {
            try comparison.play()
            return nil
        } catch {
            try comparison.foundation.abandon()
            return error
        }
    }

    private init(_ program: OperationProgram, _ fault: OperationEngineSide.Fault?) {
        ledger = OperationLedger(program)
        engine = OperationEngineSide(program, fault: fault)
        foundation = OperationSide(program)
    }

    private var program: OperationProgram { ledger.program }

    private mutating func play() throws(Difference) {
        for step in program.steps { try perform(step) }
        for queue in program.widths.indices where ledger.isSuspended[queue] { try setSuspended(queue, false) }
        while let entry = ledger.running.first { try end(entry.id) }
        guard ledger.isOver else { throw difference("nothing runs, and something waits") }
        let left = (foundation.unfinished, engine.unfinished)
        guard left == (0, 0) else {
            throw difference("\(left.0) are not finished in Foundation, \(left.1) in the engine")
        }
    }

    // MARK: Steps

    private mutating func perform(_ step: OperationProgram.Step) throws(Difference) {
        switch step {
        case .add(let batch): if ledger.mayAdd(program.batches[batch]) { try add(batch) }
        case .end(let number): if let entry = ledger.running.at(number) { try end(entry.id) }
        case .cancel(let number): if let entry = ledger.cancellable.at(number) { try cancel(entry.id) }
        case .cancelAll(let number):
            if let queue = program.widths.indices.filter({ ledger.mayCancelAll($0) }).at(number) {
                try cancelAll(queue)
            }
        case .suspend(let number):
            let open = program.widths.indices.filter { !ledger.isSuspended[$0] }
            if let queue = open.at(number) { try setSuspended(queue, true) }
        case .resume(let number):
            let suspended = program.widths.indices.filter { ledger.isSuspended[$0] }
            if let queue = suspended.at(number) { try setSuspended(queue, false) }
        }
    }

    private mutating func add(_ batch: Int) throws(Difference) {
        let parts = program.batches[batch]
        let ids = ledger.add(parts)
        for (id, part) in zip(ids, parts) {
            let after = part.after.map { "b\(ids[$0])" }.joined(separator: " ")
            script.append(
                "add b\(id) to q\(part.queue), priority \(OperationProgram.priorities[part.priority])"
                    + (after.isEmpty ? "" : ", after \(after)"))
        }
        foundation.add(parts, ids: ids)
        engine.add(batch: batch, ids: ids)
        try compare()
    }

    private mutating func end(_ id: Int) throws(Difference) {
        script.append("b\(id) ends")
        foundation.end(id)
        engine.end(id)
        try compare()
    }

    private mutating func cancel(_ id: Int) throws(Difference) {
        script.append("cancel b\(id)")
        ledger.cancel(id)
        foundation.cancel(id)
        engine.cancel(id)
        try compare()
    }

    private mutating func cancelAll(_ queue: Int) throws(Difference) {
        script.append("cancel all of q\(queue)")
        for entry in ledger.cancellable where entry.part.queue == queue { ledger.cancel(entry.id) }
        foundation.cancelAll(queue)
        engine.cancelAll(queue)
        try compare()
    }

    private mutating func setSuspended(_ queue: Int, _ value: Bool) throws(Difference) {
        script.append("\(value ? "suspend" : "resume") q\(queue)")
        ledger.setSuspended(queue, value)
        foundation.setSuspended(queue, value)
        engine.setSuspended(queue, value)
        try compare()
    }

    // MARK: Comparing

    private mutating func compare() throws(Difference) {
        let real: Progress
        do { real = try foundation.standstill() } catch { throw difference("\(error)") }
        if let refusal = engine.refusal { throw difference("the engine refused: \(refusal)") }
        if let words = real.difference(from: engine.progress, name: "Foundation") { throw difference(words) }
        ledger.note(real)
    }

    private func difference(_ difference: String) -> Difference {
        let queues = program.widths.enumerated().map { index, width in
            "q\(index): " + (width == OperationProgram.wide ? "as many as come" : "\(width) at once")
        }
        return Difference(difference: difference, things: queues, script: script)
    }
}
