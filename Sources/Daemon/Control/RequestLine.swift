import Engine
import EventSources
import LinuxSystem
import Varlink

/// The way of requests to the core. Connections that have calls at hand take turns (`CallTurns`); a turn has a few
/// calls, which go to the core together, in their order. Between turns the control context and the core go on with
/// what else there is: new clients, events, the watchdog's token. Confined to the control context.
final class RequestLine {
    /// So many connections have a call each in one turn. Few: what may be dear is theirs.
    static let callsPerTurn = 4
    /// A turn that has lasted so long has no further call (microseconds): a message of 1 MB may take its time, and
    /// whoever comes first waits for one of them instead of four.
    private static let longestTurn: Int64 = 2_000

    let target: RequestTarget
    private var turns = CallTurns()
    /// Those that are in `turns`.
    private var connections: [Int: ControlConnection] = [:]
    private let answers: Answers
    private var waiting: [() -> Void] = []
    private var isCollecting = false
    private var isPlanned = false
    private var bound: QueueBound<RequestLine> { QueueBound(self, to: answers.control) }

    init(to target: RequestTarget, answers: Answers) {
        self.target = target
        self.answers = answers
    }

    /// Has a request answered; the answer goes to `connection`.
    func perform(_ request: Request, of peer: Peer, call: Int, on connection: QueueBound<ControlConnection>) {
        append { [target, answers] in
            target.perform(request, of: peer) { answer in
                answers.add(Answers.Item(connection: connection, call: call, answer: answer))
            }
        }
    }

    /// Tells the core something of a client, behind all that this client has asked for.
    func tell(of connection: Int, _ news: @escaping (Runtime) -> Void) {
        append { [target] in target.tell(of: connection, news) }
    }

    /// This connection has a call at hand; `takeTurn` is called when it is to be asked for.
    func wantsTurn(_ connection: ControlConnection) {
        let peer = connection.peer
        guard connections.updateValue(connection, forKey: peer.connection) == nil else { return }
        turns.add(peer.connection, of: peer.userID, comesFirst: peer.comesFirst)
        plan()
    }

    /// Runs `body`, and then one turn of what is at hand; the next ones follow by themselves.
    func collect(_ body: () -> Void) {
        isCollecting = true
        answers.setControlBusy(true)
        body()
        let begin = Linux.now(.monotonic)
        for _ in 0..<Self.callsPerTurn {
            guard let next = turns.next() else { break }
            connections.removeValue(forKey: next)?.takeTurn()
            if Linux.now(.monotonic) - begin > Self.longestTurn { break }
        }
        if !waiting.isEmpty {
            let works = waiting
            waiting = []
            answers.expect()
            target.core.sync { for work in works { work() } }
            answers.deliver()
        }
        isCollecting = false
        let isDone = waiting.isEmpty && turns.isEmpty
        answers.setControlBusy(!isDone)
        if !isDone { plan() }
    }

    private func append(_ work: @escaping () -> Void) {
        waiting.append(work)
        plan()
    }

    private func plan() {
        guard !isCollecting, !isPlanned else { return }
        isPlanned = true
        answers.control.async { [bound] in bound.value.goOn() }
    }

    private func goOn() {
        isPlanned = false
        collect {}
    }
}

/// Where requests are answered. To be used on the core.
struct RequestTarget: Sendable {
    let core: Context
    let runtime: QueueBound<Runtime>
    let lookups: QueueBound<PeerLookups>

    /// Has a request answered; `done` is called on the core.
    func perform(_ request: Request, of peer: Peer, _ done: @escaping Request.Completion) {
        let runtime = runtime.value
        runtime.lookAtClocks()
        runtime.memory?.isUsed()
        let done = runtime.namingKinds(request.kinds, done)
        switch request.work {
        case .plain(let work): work(runtime, done)
        case .waiting(let work): lookUp(peer, work, done)
        case .perhapsWaiting(let hasToWait, let work):
            if hasToWait(runtime) { lookUp(peer, work, done) } else { work(runtime, .unknown, done) }
        }
    }

    private func lookUp(
        _ peer: Peer, _ work: @escaping @Sendable (Runtime, Ancestry, @escaping Request.Completion) -> Void,
        _ done: @escaping Request.Completion
    ) {
        let runtime = runtime.value
        // A client cannot be a part of a run where none is, nor of a process that holds units.
        guard runtime.engine.processesRunning > 0 || !runtime.holders.isEmpty else {
            return work(runtime, .unknown, done)
        }
        let isTaken = lookups.value.look(up: peer) { [unowned runtime] in work(runtime, $0, done) }
        if !isTaken { done(.error(.system(Errno.wouldBlock.code, Errno.wouldBlock.name))) }
    }

    func tell(of connection: Int, _ news: @escaping (Runtime) -> Void) {
        lookups.value.behind(connection) { news(runtime.value) }
    }
}
