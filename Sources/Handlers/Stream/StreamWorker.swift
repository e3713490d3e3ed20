import Engine
import EventSources
import LinuxSystem
import WatchFile

/// One worker of a `Stream=` handler: its process, the lines on their way into it, and what it answers.
///
/// The process is a `CommandRun`, whose start and end pass through here: before its end is told, all that it answered
/// is. The engine gives the lines that it still holds to another worker. Confined to the core.
final class StreamWorker: OngoingRun {
    /// From the end of one of its pipes to its own end, for one that is about to exit (microseconds).
    private static let partingTime = 1_000_000
    /// Answers for lines that it does not hold, of which each is logged.
    private static let strayAnswersLogged = 10

    private let request: StartRequest
    private let environment: RunEnvironment
    private var process: CommandRun?
    private let pipe: LinePipe<StartRequest>
    private let answers: AnswerPipe
    private let isAcknowledged: Bool
    /// With `Ack=`: lines that it has, at least in part, and has not answered.
    private var held: [UInt64: RunID] = [:]
    private var strayAnswers = 0
    private var isClosing = false
    /// A pipe has ended, or something was said of it that ends it.
    private var isBroken = false
    private var hasEnded = false
    private let began: () -> Void
    private let ended: () -> Void
    private var bound: QueueBound<StreamWorker> { QueueBound(self, to: environment.core) }

    var id: RunID { request.run }
    var name: String { "\(request.definition.value.name) worker \(request.run.part + 1)" }
    var delay: String? { process?.delay }
    var outputSoFar: RunOutput { process?.outputSoFar ?? RunOutput() }

    /// - Parameters:
    ///   - began: its process runs.
    ///   - ended: it is over, which the engine is told next.
    init(
        _ request: StartRequest, _ environment: RunEnvironment, began: @escaping () -> Void,
        ended: @escaping () -> Void
    ) {
        self.request = request
        self.environment = environment
        self.began = began
        self.ended = ended
        isAcknowledged = request.definition.value.stream?.isAcknowledged ?? false
        pipe = LinePipe(core: environment.core, epoll: environment.epoll)
        answers = AnswerPipe(core: environment.core, epoll: environment.epoll)
        pipe.encode = { [weak self] in self?.text($0) ?? [] }
        pipe.wrote = { [weak self] in self?.wrote($0) }
        pipe.broke = { [weak self] in
            guard let self else { return }
            parts("closed its standard input", isDue: isClosing)
        }
        answers.read = { [weak self] in self?.heard($0) }
        answers.ended = { [weak self] in
            guard let self else { return }
            parts("closed $WATCHD_ACK_FD", isDue: isClosing && held.isEmpty)
        }
    }

    func start() {
        var inner = environment
        inner.send = { [weak self] in self?.pass($0) }
        let process = CommandRun(request, inner, began: began, ended: {}) { [weak self] in self?.opened($0) }
        self.process = process
        process.start()
    }

    func tryNow() { process?.tryNow() }
    func giveUp() { process?.giveUp() }
    func signal(_ number: Int32, _ mode: KillMode) { process?.signal(number, mode) }
    /// Its pipes end with watchd, so that nothing of it is kept.
    func keep() {}

    // MARK: Lines for it

    /// To be followed by `flush`.
    func hand(_ line: StartRequest) { pipe.append(line) }

    func flush() { pipe.flush() }

    /// Gives up a line that nothing is written of; else it is told, if it would answer.
    func takeBack(_ run: RunID) {
        if pipe.withdraw({ $0.run == run }) {
            held[run.operation] = nil
            return environment.send(.answered(worker: id, [LineAnswer(run, .withdrawn)]))
        }
        guard isAcknowledged, held[run.operation] != nil else { return }
        pipe.interpose(Array("{\"cancel\":\(run.operation)}\n".utf8))
    }

    /// No further lines: its standard input ends behind those that it has been given.
    func closeInput() {
        isClosing = true
        pipe.close()
    }

    private func text(_ line: StartRequest) -> [UInt8] {
        if isAcknowledged { held[line.run.operation] = line.run }
        return EventMessage.line(RunContext(line, host: Linux.hostName), isTraced: true)
    }

    private func wrote(_ lines: [StartRequest]) {
        if isAcknowledged { return }
        environment.send(.answered(worker: id, lines.map { LineAnswer($0.run, .written) }))
    }

    // MARK: Its answers

    private func heard(_ lines: [LineFramer.Line]) {
        var told: [LineAnswer] = []
        var nonsense: String?
        for line in lines where nonsense == nil {
            if line.isIncomplete {
                nonsense = "wrote an answer longer than \(AnswerPipe.longest) bytes to $WATCHD_ACK_FD"
            } else if let answer = WorkerAnswer(line.bytes) {
                if let run = held.removeValue(forKey: answer.id) {
                    told.append(LineAnswer(run, answer.outcome))
                } else {
                    stray(answer)
                }
            } else {
                let text = line.bytes.isEmpty ? "an empty line" : "“\(Array(line.bytes.prefix(80)).printable)”"
                nonsense = "wrote \(text) to $WATCHD_ACK_FD, which is no answer"
            }
        }
        if !told.isEmpty { environment.send(.answered(worker: id, told)) }
        if let nonsense { broken(nonsense) }
    }

    /// It may have answered twice, or somebody else's line: nothing depends on it.
    private func stray(_ answer: WorkerAnswer) {
        strayAnswers += 1
        guard strayAnswers <= Self.strayAnswersLogged else { return }
        let last = strayAnswers == Self.strayAnswersLogged ? "; further ones are not logged" : ""
        environment.logger.log(
            .warning,
            "\(name) answered \(answer.outcome.rawValue) for operation \(answer.id), which it does not hold\(last)",
            [("WATCHD_HANDLER", request.definition.value.name)])
    }

    // MARK: Its process

    private func opened(_ ends: Child.LineEnds) {
        do throws(SystemError) {
            if let number = ends.answers { try answers.open(number) }
            try pipe.open(ends.input)
        } catch {
            broken("could not be given a pipe: \(error)")
        }
        if isClosing { pipe.close() }
    }

    /// One that exits closes its pipes first: it has a moment for that.
    ///
    /// - Parameter isDue: it is to end, and owes nothing by that pipe.
    private func parts(_ what: String, isDue: Bool) {
        guard !isBroken, !isDue, !hasEnded else { return }
        isBroken = true
        environment.core.after(Self.partingTime) { [bound] in
            let worker = bound.value
            if !worker.hasEnded { worker.environment.send(.workerIsBroken(worker.id, what)) }
        }
    }

    private func broken(_ what: String) {
        guard !hasEnded else { return }
        isBroken = true
        environment.send(.workerIsBroken(id, what))
    }

    private func pass(_ input: Input) {
        switch input {
        case .runEnded, .runNotStarted, .runGivenUp:
            answers.drain()
            hasEnded = true
            pipe.abandon()
            ended()
        default: break
        }
        environment.send(input)
    }
}
