/// Plays a program on both sides and compares them at each standstill.
struct DispatchComparison {
    private(set) var ledger: Ledger
    private var engine: EngineSide
    private let dispatch: DispatchSide
    /// What was really done, in words.
    private(set) var script: [String] = []

    /// `nil`: none.
    static func difference(
        in program: DispatchProgram, fault: EngineSide.Fault? = nil, lifting lifted: Ledger.Restriction? = nil
    ) throws -> Difference? {
        var comparison = DispatchComparison(program, fault, lifted)
        do throws(Difference) {
            try comparison.play()
            return nil
        } catch {
            try comparison.abandon()
            return error
        }
    }

    private init(_ program: DispatchProgram, _ fault: EngineSide.Fault?, _ lifted: Ledger.Restriction?) {
        ledger = Ledger(program, lifting: lifted)
        engine = EngineSide(program, fault: fault)
        dispatch = DispatchSide(program)
    }

    private var program: DispatchProgram { ledger.program }

    private mutating func play() throws(Difference) {
        for step in program.steps { try perform(step) }
        try finish()
    }

    /// Everything that a program left undone: in the end every block has ended.
    private mutating func finish() throws(Difference) {
        for queue in program.queues.indices {
            while ledger.suspensions[queue] > 0 { try resume(queue) }
        }
        for group in 0..<program.groups {
            while ledger.entered[group] > 0 { try perform(.leave(0)) }
        }
        while !ledger.isOver {
            if let block = ledger.running.first {
                try end(block.id)
            } else if let block = ledger.blocks.first(where: { $0.state == .waiting && $0.submission.semaphore != nil })
            {
                try signal(block.submission.semaphore ?? 0)
            } else {
                throw difference("nothing runs, and something waits")
            }
        }
    }

    // MARK: Steps

    private mutating func perform(_ step: DispatchProgram.Step) throws(Difference) {
        switch step {
        case .submit(let submissions): try submit(submissions)
        case .end(let number): if let block = ledger.running.at(number) { try end(block.id) }
        case .suspend(let number):
            if let queue = program.queues.indices.filter({ ledger.maySuspend($0) }).at(number) { try suspend(queue) }
        case .resume(let number):
            let suspended = program.queues.indices.filter { ledger.suspensions[$0] > 0 }
            if let queue = suspended.at(number) { try resume(queue) }
        case .signal(let number):
            if let semaphore = Array(program.semaphores.indices).at(number) { try signal(semaphore) }
        case .enter(let number): if let group = Array(0..<program.groups).at(number) { try enter(group) }
        case .leave(let number):
            if let group = (0..<program.groups).filter({ ledger.entered[$0] > 0 }).at(number) { try leave(group) }
        }
    }

    private mutating func submit(_ submissions: [DispatchProgram.Submission]) throws(Difference) {
        var count = 0
        for submission in submissions where ledger.maySubmit(submission) {
            // It comes to wait for its semaphore before anything else happens.
            if submission.semaphore != nil, count > 0 { continue }
            let isFirst = submission.group.map { ledger.isEmpty(group: $0) } ?? false
            let id = ledger.submit(submission)
            script.append(words(id, submission))
            dispatch.submit(id, submission, isFirstInGroup: isFirst)
            engine.submit(id, submission)
            count += 1
            if submission.semaphore != nil { break }
        }
        if count > 0 { try compare() }
    }

    private mutating func end(_ id: Int) throws(Difference) {
        script.append("b\(id) ends")
        do { try dispatch.end(id) } catch { throw difference("\(error)") }
        engine.end(id)
        try compare()
    }

    private mutating func suspend(_ queue: Int) throws(Difference) {
        script.append("suspend \(program.queues[queue].name)")
        ledger.suspend(queue)
        dispatch.suspend(queue)
        engine.suspend(queue)
        try compare()
    }

    private mutating func resume(_ queue: Int) throws(Difference) {
        script.append("resume \(program.queues[queue].name)")
        ledger.resume(queue)
        dispatch.resume(queue)
        engine.resume(queue)
        try compare()
    }

    private mutating func signal(_ semaphore: Int) throws(Difference) {
        script.append("signal s\(semaphore)")
        dispatch.signal(semaphore)
        engine.signal(semaphore)
        try compare()
    }

    private mutating func enter(_ group: Int) throws(Difference) {
        script.append("enter g\(group)")
        dispatch.enter(group, isFirst: ledger.isEmpty(group: group))
        ledger.enter(group)
        engine.enter(group)
        try compare()
    }

    private mutating func leave(_ group: Int) throws(Difference) {
        script.append("leave g\(group)")
        ledger.leave(group)
        dispatch.leave(group)
        engine.leave(group)
        try compare()
    }
}

// MARK: - Comparing

extension DispatchComparison {
    private mutating func compare() throws(Difference) {
        let real: Progress
        do { real = try dispatch.standstill() } catch { throw difference("\(error)") }
        if let refusal = engine.refusal { throw difference("the engine refused: \(refusal)") }
        if let words = real.difference(from: engine.progress, name: "Dispatch") { throw difference(words) }
        ledger.note(started: real.started, ended: real.ended)
    }

    private func difference(_ difference: String) -> Difference {
        let queues = program.queues.map { queue in
            let kind = queue.isConcurrent ? "concurrent" : "serial"
            return "\(queue.name): \(kind)" + (queue.target.map { ", target q\($0)" } ?? "")
        }
        let semaphores = program.semaphores.enumerated().map { "s\($0): semaphore, value \($1)" }
        return Difference(difference: difference, things: queues + semaphores, script: script)
    }

    private func words(_ id: Int, _ submission: DispatchProgram.Submission) -> String {
        var words = "submit b\(id) to \(program.queues[submission.queue].name)"
        if submission.isBarrier { words += ", a barrier" }
        if let group = submission.group { words += ", in group g\(group)" }
        if let semaphore = submission.semaphore {
            words += submission.isConsuming ? ", consuming s\(semaphore)" : ", with s\(semaphore)"
        }
        return words
    }

    private mutating func abandon() throws {
        dispatch.abandon(suspensions: ledger.suspensions, entered: ledger.entered)
        let ended = try dispatch.standstill().ended.count
        if ended < ledger.blocks.count { throw Standstill.Restless(description: "blocks are left in Dispatch") }
    }
}
