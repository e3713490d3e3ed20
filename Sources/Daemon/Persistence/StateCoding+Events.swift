import Engine
import WatchFile

extension Fact {
    /// About as many bytes as it takes, its event's numbers included; rather too many.
    var room: Int {
        switch self {
        case .timer, .finalizer, .silence: 48
        case .group(let group):
            group.failures.reduce(56) { $0 + $1.handler.utf8.count + $1.reason.utf8.count + 24 }
        case .signal(let signal): 48 + (signal.senderExecutable?.count ?? 0)
        case .process(let process): 48 + (process.executable?.count ?? 0)
        case .unit(let unit): 48 + unit.unit.utf8.count + (unit.result?.utf8.count ?? 0)
        case .path(let path): 40 + path.path.count + path.root.count + (path.oldPath?.count ?? 0)
        case .line(let line):
            48 + line.bytes.count + (line.peer?.utf8.count ?? 0) + line.captures.reduce(0) { $0 + $1.count + 8 }
        case .custom(let custom): 48 + (custom.payload?.count ?? 0)
        case .command(let command): 128 + command.size
        case .problem(let problem): 96 + problem.size
        case .completion(let completion):
            104 + completion.output.count + (completion.reason?.utf8.count ?? 0) + completion.cause.fact.room
        }
    }
}

extension ByteWriter {
    mutating func put(_ events: [Event]) {
        put(UInt64(events.count))
        for event in events { put(event) }
    }

    mutating func put(_ event: Event) {
        put(event.id)
        put(event.time)
        put(event.count)
        if let trace = event.trace {
            put(byte: StateCoding.traced)
            put(byte: trace.isSampled ? 1 : 0)
            for number in [trace.high, trace.low, trace.span] { put(number) }
        }
        if let origin = event.origin {
            put(byte: StateCoding.told)
            put(origin)
        }
        if event.isByHand { put(byte: StateCoding.byHand) }
        switch event.fact {
        case .timer(let scheduled):
            put(byte: 1)
            put(scheduled)
        case .signal(let signal): put(signal)
        case .path(let path): put(path)
        case .line(let line): put(line)
        case .process(let process): put(process)
        case .custom(let custom): put(custom)
        case .group(let group): put(group)
        case .completion(let completion): put(completion)
        case .unit(let unit): put(unit)
        case .finalizer: put(byte: 13)
        case .command(let command):
            put(byte: 16)
            put(command)
        case .problem(let fact):
            put(byte: 17)
            put(byte: (fact.isSolved ? 1 : 0) | (fact.problem.help == nil ? 0 : 2))
            for text in [fact.problem.object, fact.problem.sentence, fact.problem.action, fact.problem.since] {
                put(text)
            }
            if let help = fact.problem.help { put(help) }
        case .silence(let silence):
            put(byte: silence.isOver ? 11 : 10)
            put(silence.silent)
        }
    }

    private mutating func put(_ signal: SignalFact) {
        put(byte: 2)
        put(byte: (signal.value == nil ? 0 : 1) | (signal.senderExecutable == nil ? 0 : 2))
        put(signal.number)
        put(signal.senderPID)
        put(UInt64(signal.senderUID))
        if let value = signal.value { put(value) }
        if let executable = signal.senderExecutable { put(executable) }
    }

    private mutating func put(_ path: PathFact) {
        put(byte: 3)
        let bits: UInt8 = (path.oldPath == nil ? 0 : 1) | (path.isRecovered ? 2 : 0) | (path.hasReplaced ? 4 : 0)
        let before: UInt8 =
            switch path.before {
            case nil: 0
            case .nothing: 8
            case .file: 32
            case .folder: 64
            }
        put(byte: bits | before | (path.isFolder ? 16 : 0))
        put(byte: path.change.stateNumber)
        put(path.path)
        put(path.root)
        if let oldPath = path.oldPath { put(oldPath) }
    }

    private mutating func put(_ line: LineFact) {
        put(byte: 4)
        let bits: UInt8 =
            (line.peer == nil ? 0 : 1) | (line.isIncomplete ? 2 : 0) | (line.captures.isEmpty ? 0 : 4)
            | (line.handover == nil ? 0 : 8) | (line.form == .line ? 0 : 16)
            | (line.isRepeated ? 32 : 0)
        put(byte: bits)
        put(line.bytes)
        if let peer = line.peer { put(peer) }
        if !line.captures.isEmpty {
            put(UInt64(line.captures.count))
            for capture in line.captures { put(capture) }
        }
        if let handover = line.handover { put(handover) }
        if line.form != .line { put(byte: line.form.stateNumber) }
    }

    private mutating func put(_ process: ProcessFact) {
        put(byte: 5)
        let bits: UInt8 =
            (process.runTime == nil ? 0 : 1) | (process.executable == nil ? 0 : 2) | (process.event == .exit ? 0 : 4)
        put(byte: bits)
        put(process.pid)
        put(process.exit)
        if let runTime = process.runTime { put(runTime) }
        if let executable = process.executable { put(executable) }
        if process.event != .exit { put(byte: process.event.stateNumber) }
    }

    private mutating func put(_ group: GroupFact) {
        put(byte: group.failures.isEmpty ? (group.lost == 0 ? 7 : 12) : 15)
        put(group.ran)
        put(group.failed)
        put(group.cancelled)
        if group.failures.isEmpty {
            if group.lost > 0 { put(group.lost) }
            return
        }
        put(group.lost)
        put(UInt64(group.failures.count))
        for failure in group.failures {
            put(failure.handler)
            put(failure.operation)
            put(failure.reason)
        }
    }

    private mutating func put(_ unit: UnitFact) {
        put(byte: 9)
        put(byte: unit.result == nil ? 0 : 1)
        put(unit.unit)
        put(byte: unit.change.stateNumber)
        if let result = unit.result { put(result) }
    }

    private mutating func put(_ custom: CustomFact) {
        put(byte: 6)
        put(byte: (custom.data == nil ? 0 : 1) | (custom.payload == nil ? 0 : 2))
        if let data = custom.data { put(data) }
        if let payload = custom.payload { put(payload) }
    }

    private mutating func put(_ completion: CompletionFact) {
        put(byte: completion.reason == nil ? 8 : 14)
        put(byte: completion.outcome.stateNumber)
        put(completion.operation)
        put(byte: completion.result?.stateNumber ?? 0)
        if let reason = completion.reason { put(reason) }
        put(completion.exit)
        put(completion.output)
        put(completion.causeOrigin)
        put(completion.cause)
    }

    private mutating func put(_ exit: Exit?) {
        switch exit {
        case nil: put(byte: 0)
        case .exited(let status):
            put(byte: 1)
            put(status)
        case .signaled(let number):
            put(byte: 2)
            put(number)
        }
    }

    mutating func put(_ origin: Origin) {
        switch origin {
        case .source(let id):
            put(byte: 1)
            put(byte: id.kind.stateNumber)
        case .completion: put(byte: 2)
        case .run: put(byte: 3)
        case .finalizer: put(byte: 4)
        case .silence(let id):
            put(byte: 5)
            put(byte: id.kind.stateNumber)
        case .problem: put(byte: 6)
        case .digest: put(byte: 7)
        }
        put(origin.name)
    }
}

extension ByteReader {
    mutating func events() throws(DamagedBytes) -> [Event] {
        try list(ofAtLeast: 5) { reader throws(DamagedBytes) in try reader.event(depth: 0) }
    }

    /// `depth`: completions around it.
    private mutating func event(depth: Int) throws(DamagedBytes) -> Event {
        guard depth <= StateCoding.deepest else { throw DamagedBytes() }
        let (id, time) = (try unsigned(), try signed())
        let count = try int(1...StateCoding.largestCount)
        var form = try byte()
        let trace = form == StateCoding.traced ? try trace() : nil
        if trace != nil { form = try byte() }
        let origin = form == StateCoding.told ? try origin() : nil
        if origin != nil { form = try byte() }
        let isByHand = form == StateCoding.byHand
        if isByHand { form = try byte() }
        var event = Event(id: id, time: time, count: count, fact: try fact(form, depth: depth))
        event.isByHand = isByHand
        if let trace { event.trace = trace }
        if let origin { event.origin = origin }
        return event
    }

    private mutating func trace() throws(DamagedBytes) -> TraceContext {
        let bits = try flags(1)
        let trace = TraceContext(
            high: try unsigned(), low: try unsigned(), span: try unsigned(), isSampled: bits & 1 != 0)
        guard trace.high | trace.low != 0 else { throw DamagedBytes() }
        return trace
    }

    private mutating func fact(_ form: UInt8, depth: Int) throws(DamagedBytes) -> Fact {
        switch form {
        case 1: .timer(scheduled: try signed())
        case 2: .signal(try signal())
        case 3: .path(try path())
        case 4: .line(try line())
        case 5: .process(try process())
        case 6: .custom(try custom())
        case 7: .group(try group())
        case 8: .completion(try completion(depth: depth, hasReason: false))
        case 9: .unit(try unit())
        case 10: .silence(SilenceFact(silent: try signed()))
        case 11: .silence(SilenceFact(silent: try signed(), isOver: true))
        case 12: .group(try groupWithLost())
        case 13: .finalizer
        case 14: .completion(try completion(depth: depth, hasReason: true))
        case 15: .group(try groupWithFailures())
        case 16: .command(try command())
        case 17: .problem(try problem())
        default: throw DamagedBytes()
        }
    }

    private mutating func problem() throws(DamagedBytes) -> ProblemFact {
        let bits = try flags(3)
        var problem = Problem(object: try text(), sentence: try text(), action: try text(), since: try text())
        problem.help = try text(if: bits & 2 != 0)
        return ProblemFact(problem, isSolved: bits & 1 != 0)
    }

    private mutating func signal() throws(DamagedBytes) -> SignalFact {
        let bits = try flags(3)
        var signal = SignalFact(
            number: try int32(), senderPID: try int32(), senderUID: try within(UInt32(exactly: unsigned())))
        if bits & 1 != 0 { signal.value = try int32() }
        signal.senderExecutable = try content(if: bits & 2 != 0)
        return signal
    }

    private mutating func path() throws(DamagedBytes) -> PathFact {
        let bits = try flags(127)
        var path = PathFact(
            try number(), path: try content(), root: try content(), isRecovered: bits & 2 != 0,
            hasReplaced: bits & 4 != 0, isFolder: bits & 16 != 0)
        path.before =
            switch bits & (8 | 32 | 64) {
            case 0: nil
            case 8: .nothing
            case 32: .file
            case 64: .folder
            default: throw DamagedBytes()
            }
        path.oldPath = try content(if: bits & 1 != 0)
        return path
    }

    private mutating func line() throws(DamagedBytes) -> LineFact {
        let bits = try flags(63)
        var line = LineFact(try content(), isIncomplete: bits & 2 != 0, peer: try text(if: bits & 1 != 0))
        if bits & 4 != 0 {
            line.captures = try list(ofAtLeast: 1) { reader throws(DamagedBytes) in try reader.content() }
        }
        if bits & 8 != 0 { line.handover = try unsigned() }
        if bits & 16 != 0 { line.form = try number() }
        line.isRepeated = bits & 32 != 0
        return line
    }

    private mutating func process() throws(DamagedBytes) -> ProcessFact {
        let bits = try flags(7)
        var process = ProcessFact(pid: try int32(), exit: try exit(), runTime: try signed(if: bits & 1 != 0))
        process.executable = try content(if: bits & 2 != 0)
        if bits & 4 != 0 { process.event = try number() }
        return process
    }

    private mutating func unit() throws(DamagedBytes) -> UnitFact {
        let bits = try flags(1)
        return UnitFact(unit: try text(), change: try number(), result: try text(if: bits & 1 != 0))
    }

    private mutating func custom() throws(DamagedBytes) -> CustomFact {
        let bits = try flags(3)
        return CustomFact(data: try signed(if: bits & 1 != 0), payload: try content(if: bits & 2 != 0))
    }

    private mutating func group() throws(DamagedBytes) -> GroupFact {
        let members = 0...StateCoding.largestCount
        return GroupFact(ran: try int(members), failed: try int(members), cancelled: try int(members))
    }

    private mutating func groupWithLost() throws(DamagedBytes) -> GroupFact {
        var fact = try group()
        fact.lost = try int(1...StateCoding.largestCount)
        return fact
    }

    private mutating func groupWithFailures() throws(DamagedBytes) -> GroupFact {
        var fact = try group()
        fact.lost = try int(0...StateCoding.largestCount)
        fact.failures = try list(ofAtLeast: 3) { reader throws(DamagedBytes) in
            GroupFact.Failure(
                handler: try reader.text(), operation: try reader.unsigned(), reason: try reader.text())
        }
        guard (1...GroupFact.failureLimit).contains(fact.failures.count) else { throw DamagedBytes() }
        return fact
    }

    private mutating func completion(depth: Int, hasReason: Bool) throws(DamagedBytes) -> CompletionFact {
        let outcome: CompletionFact.Outcome = try number()
        let operation = try unsigned()
        let result = try result()
        let reason = try text(if: hasReason)
        let (exit, output, origin) = (try exit(), try content(), try origin())
        return CompletionFact(
            outcome: outcome, operation: operation, result: result, reason: reason, exit: exit, output: output,
            cause: try event(depth: depth + 1), causeOrigin: origin)
    }

    /// 0: none yet.
    private mutating func result() throws(DamagedBytes) -> EngineResult? {
        let number = try byte()
        return number == 0 ? nil : try within(EngineResult(stateNumber: number))
    }

    private mutating func exit() throws(DamagedBytes) -> Exit? {
        switch try byte() {
        case 0: nil
        case 1: .exited(try int32())
        case 2: .signaled(try int32())
        default: throw DamagedBytes()
        }
    }

    mutating func origin() throws(DamagedBytes) -> Origin {
        switch try byte() {
        case 1: .source(SourceID(try number(), try text()))
        case 2: .completion(handler: try text())
        case 3: .run(handler: try text())
        case 4: .finalizer(queue: try text())
        case 5: .silence(SourceID(try number(), try text()))
        case 6: .problem(object: try text())
        case 7: .digest(handler: try text())
        default: throw DamagedBytes()
        }
    }
}
