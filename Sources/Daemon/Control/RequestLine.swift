import Engine
import EventSources
import LinuxSystem
import Varlink

/// The way of requests to the core: those of one turn go there together, in their order. Confined to the control
/// context.
final class RequestLine {
    let target: RequestTarget
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

    /// Runs `body`, and then what it has asked for, until nothing that can be answered at once is left.
    func collect(_ body: () -> Void) {
        isCollecting = true
        answers.setControlBusy(true)
        body()
        while !waiting.isEmpty {
            let works = waiting
            waiting = []
            answers.expect()
            target.core.sync { for work in works { work() } }
            answers.deliver()
        }
        answers.setControlBusy(false)
        isCollecting = false
    }

    private func append(_ work: @escaping () -> Void) {
        waiting.append(work)
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
        let done = runtime.namingKinds(request.kinds, done)
        switch request.work {
        case .plain(let work): work(runtime, done)
        case .waiting(let work):
            // A client cannot be a part of a run where none is.
            guard runtime.engine.processesRunning > 0 else { return work(runtime, .unknown, done) }
            let isTaken = lookups.value.look(up: peer) { [unowned runtime] in work(runtime, $0, done) }
            if !isTaken { done(.error(.system(Errno.wouldBlock.code, Errno.wouldBlock.name))) }
        }
    }

    func tell(of connection: Int, _ news: @escaping (Runtime) -> Void) {
        lookups.value.behind(connection) { news(runtime.value) }
    }
}
