import Engine
import WatchFile

extension Fact {
    /// About as many bytes as it takes, its event's numbers included; rather too many.
    var room: Int {
        switch self {
        case .timer, .signal, .process, .group: 48
        case .path(let path): 40 + path.path.count + path.root.count + (path.oldPath?.count ?? 0)
        case .line(let line): 40 + line.bytes.count + (line.peer?.utf8.count ?? 0)
        case .custom(let custom): 48 + (custom.payload?.count ?? 0)
        case .completion(let completion): 96 + completion.output.count + completion.cause.fact.room
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
        switch event.fact {
        case .timer(let scheduled):
            put(byte: 1)
            put(scheduled)
        case .signal(let signal): put(signal)
        case .path(let path): put(path)
        case .line(let line): put(line)
        case .process(let process): put(process)
        case .custom(let custom): put(custom)
        case .group(let group):
            put(byte: 7)
            put(group.ran)
            put(group.failed)
            put(group.cancelled)
        case .completion(let completion): put(completion)
        }
    }

    private mutating func put(_ signal: SignalFact) {
        put(byte: 2)
        put(byte: signal.value == nil ? 0 : 1)
        put(signal.number)
        put(signal.senderPID)
        put(UInt64(signal.senderUID))
        if let value = signal.value { put(value) }
    }

    private mutating func put(_ path: PathFact) {
        put(byte: 3)
        let bits: UInt8 = (path.oldPath == nil ? 0 : 1) | (path.isRecovered ? 2 : 0) | (path.hasReplaced ? 4 : 0)
        put(byte: bits)
        put(byte: path.change.stateNumber)
        put(path.path)
        put(path.root)
        if let oldPath = path.oldPath { put(oldPath) }
    }

    private mutating func put(_ line: LineFact) {
        put(byte: 4)
        put(byte: (line.peer == nil ? 0 : 1) | (line.isIncomplete ? 2 : 0))
        put(line.bytes)
        if let peer = line.peer { put(peer) }
    }

    private mutating func put(_ process: ProcessFact) {
        put(byte: 5)
        put(byte: process.runTime == nil ? 0 : 1)
        put(process.pid)
        put(process.exit)
        if let runTime = process.runTime { put(runTime) }
    }

    private mutating func put(_ custom: CustomFact) {
        put(byte: 6)
        put(byte: (custom.data == nil ? 0 : 1) | (custom.payload == nil ? 0 : 2))
        if let data = custom.data { put(data) }
        if let payload = custom.payload { put(payload) }
    }

    private mutating func put(_ completion: CompletionFact) {
        put(byte: 8)
        put(byte: completion.outcome.stateNumber)
        put(completion.operation)
        put(byte: completion.result.stateNumber)
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
        return Event(id: id, time: time, count: count, fact: try fact(depth: depth))
    }

    private mutating func fact(depth: Int) throws(DamagedBytes) -> Fact {
        switch try byte() {
        case 1: .timer(scheduled: try signed())
        case 2: .signal(try signal())
        case 3: .path(try path())
        case 4: .line(try line())
        case 5: .process(try process())
        case 6: .custom(try custom())
        case 7: .group(try group())
        case 8: .completion(try completion(depth: depth))
        default: throw DamagedBytes()
        }
    }

    private mutating func signal() throws(DamagedBytes) -> SignalFact {
        let bits = try flags(1)
        var signal = SignalFact(
            number: try int32(), senderPID: try int32(), senderUID: try within(UInt32(exactly: unsigned())))
        if bits & 1 != 0 { signal.value = try int32() }
        return signal
    }

    private mutating func path() throws(DamagedBytes) -> PathFact {
        let bits = try flags(7)
        var path = PathFact(
            try number(), path: try content(), root: try content(), isRecovered: bits & 2 != 0,
            hasReplaced: bits & 4 != 0)
        path.oldPath = try content(if: bits & 1 != 0)
        return path
    }

    private mutating func line() throws(DamagedBytes) -> LineFact {
        let bits = try flags(3)
        return LineFact(try content(), isIncomplete: bits & 2 != 0, peer: try text(if: bits & 1 != 0))
    }

    private mutating func process() throws(DamagedBytes) -> ProcessFact {
        let bits = try flags(1)
        return ProcessFact(pid: try int32(), exit: try exit(), runTime: try signed(if: bits & 1 != 0))
    }

    private mutating func custom() throws(DamagedBytes) -> CustomFact {
        let bits = try flags(3)
        return CustomFact(data: try signed(if: bits & 1 != 0), payload: try content(if: bits & 2 != 0))
    }

    private mutating func group() throws(DamagedBytes) -> GroupFact {
        let members = 0...StateCoding.largestCount
        return GroupFact(ran: try int(members), failed: try int(members), cancelled: try int(members))
    }

    private mutating func completion(depth: Int) throws(DamagedBytes) -> CompletionFact {
        let outcome: CompletionFact.Outcome = try number()
        let operation = try unsigned()
        let result: EngineResult = try number()
        let (exit, output, origin) = (try exit(), try content(), try origin())
        return CompletionFact(
            outcome: outcome, operation: operation, result: result, exit: exit, output: output,
            cause: try event(depth: depth + 1), causeOrigin: origin)
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
        default: throw DamagedBytes()
        }
    }
}
