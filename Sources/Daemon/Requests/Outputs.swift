import ControlInterface
import Engine
import Handlers
import JSON
import Store
import Varlink
import WatchFile

/// Output of operations and of supervised processes: from what runs, from memory, or from the store.
extension Runtime {
    /// Calls `done` once.
    func output(_ parameters: GetOutput.Parameters, _ role: Peer.Role, _ done: @escaping Request.Completion) {
        guard role == .administrator else { return done(.error(.permissionDenied)) }
        if let id = parameters.id {
            guard let id = UInt64(exactly: id) else { return done(.of(.noSuchOperation(id: id))) }
            return output(of: id, parameters.attempt, done)
        }
        guard let name = parameters.name else { return done(.error(.invalidParameter("name"))) }
        do throws(ErrorReply) {
            if let source = try process(named: name) { return done(.of(output(of: source, parameters.copy ?? 1))) }
            if let handler = try crew(named: name) { return done(.of(output(of: handler, parameters.copy ?? 1))) }
        } catch {
            return done(.error(error))
        }
        guard parameters.copy == nil else { return done(.of(.notSupervised(name: name))) }
        newest(of: name) { [unowned self] found in
            switch found {
            case .failure(let error): done(.error(error))
            case .success(nil): done(.of(GetOutput.Reply()))
            case .success(let id?): output(of: id, parameters.attempt, done)
            }
        }
    }

    // MARK: Operations

    private func output(of id: UInt64, _ attempt: Int?, _ done: @escaping Request.Completion) {
        guard let view = engine.operation(id) else { return endedOutput(of: id, attempt, done) }
        // The next watchd has it.
        if view.waitReason == .start { return done(.of(.draining)) }
        let summary = OperationSummary(view, .administrator)
        let wanted = attempt ?? summary.attempt
        if view.state == .executing, wanted == summary.attempt, let output = runs?.output(of: id) {
            return done(complete(GetOutput.Reply(summary, wanted, output)))
        }
        let total = wanted == summary.attempt ? runs?.bytesWritten(by: id) : nil
        earlierOutput(of: id, wanted) { [unowned self] in
            done(complete(GetOutput.Reply(summary, wanted, $0, total: total)))
        }
    }

    private func endedOutput(of id: UInt64, _ attempt: Int?, _ done: @escaping Request.Completion) {
        ended(id) { [unowned self] result in
            switch result {
            case .failure(let error): done(.of(.storeFailing(reason: error.description)))
            case .success(nil): done(.of(missing(id)))
            case .success(let operation?):
                let summary = OperationSummary(operation, .administrator)
                let wanted = attempt ?? summary.attempt
                guard wanted == summary.attempt else {
                    return earlierOutput(of: id, wanted) { [unowned self] in
                        done(complete(GetOutput.Reply(summary, wanted, $0, total: nil)))
                    }
                }
                let output = operation.isOutputForgotten ? nil : operation.output
                done(complete(GetOutput.Reply(summary, wanted, output, total: runs?.bytesWritten(by: id))))
            }
        }
    }

    /// A line that a worker took has no output of its own.
    private func complete(_ reply: GetOutput.Reply) -> Request.Answer {
        var reply = reply
        if reply.output == nil, let handler = reply.operation?.handler, crew(of: handler) != nil {
            reply.source = "handler/\(handler)"
        }
        return .of(reply)
    }

    /// Of an attempt that was followed by another one, or will be.
    private func earlierOutput(of id: UInt64, _ attempt: Int, _ then: @escaping ([UInt8]?) -> Void) {
        let remembered = attempts.output(of: id, attempt: attempt)
        guard remembered == nil, let persistence else { return then(remembered) }
        persistence.read({ reader throws(StoreError) in try reader.output(of: id, attempt: attempt) }) { result in
            then(try? result.get())
        }
    }

    /// The newest operation of a handler or source: one that runs or backs off, or else the one that ended last.
    private func newest(of name: String, _ done: @escaping (Swift.Result<UInt64?, ErrorReply>) -> Void) {
        let query: HistoryQuery
        let parameters = ListHistory.Parameters(name: name, limit: 1)
        do throws(ErrorReply) { query = try self.query(parameters) } catch { return done(.failure(error)) }
        let begun = engine.operationViews(queue: nil, handler: query.handler, after: 0, limit: .max).filter {
            ($0.started != nil || $0.attempt > 1)
                && (query.source == nil || query.source == $0.origin.description)
        }
        if let running = begun.last(where: { $0.state == .executing }) ?? begun.last {
            return done(.success(running.id))
        }
        ended(query) { [unowned self] result in
            switch result {
            case .failure(let error): done(.failure(ManagerError.storeFailing(reason: error.description).reply))
            case .success(let page):
                let unknown = page.operations.isEmpty ? unknownName(in: parameters) : nil
                done(unknown.map { .failure($0.reply) } ?? .success(page.operations.first?.id))
            }
        }
    }

    // MARK: Processes

    /// The process with `Command=` that a name means; `nil`: it means a handler, another source, or nothing.
    private func process(named name: String) throws(ErrorReply) -> SourceView? {
        let views = engine.sourceViews.filter {
            $0.id.kind == .process && $0.definition.command != nil && !$0.isRemoved
        }
        if let exact = views.first(where: { $0.id.description == name }) { return exact }
        guard try query(ListHistory.Parameters(name: name, limit: 1)).handler == nil else { return nil }
        return views.first { $0.id.name == name }
    }

    private func output(of view: SourceView, _ copy: Int) -> GetOutput.Reply {
        let process = view.processes.first { $0.copy == copy }.map { SupervisedProcess($0, .administrator) }
        return output(of: view.id.description, process, copy)
    }

    /// The handler with workers that a name means; `nil`: it means another one, a source, or nothing.
    private func crew(named name: String) throws(ErrorReply) -> HandlerView? {
        guard let handler = try query(ListHistory.Parameters(name: name, limit: 1)).handler else { return nil }
        return crew(of: handler)
    }

    /// `nil`: the handler has no workers, or is removed.
    private func crew(of handler: String) -> HandlerView? {
        engine.handlerViews(where: { $0 == handler }).first { $0.definition.stream != nil && !$0.isRemoved }
    }

    private func output(of view: HandlerView, _ copy: Int) -> GetOutput.Reply {
        let worker = view.workers.first { $0.copy == copy }.map { SupervisedProcess($0, .administrator) }
        return output(of: "handler/\(view.definition.name)", worker, copy)
    }

    private func output(of owner: String, _ process: SupervisedProcess?, _ copy: Int) -> GetOutput.Reply {
        var reply = GetOutput.Reply()
        reply.source = owner
        guard let process else { return reply }
        let output = processOutputs.output(of: .init(owner: owner, copy: copy), runs)
        reply.process = process
        reply.tell(output.end, total: output.total)
        reply.lacksBeginning = output.lacksBeginning ? true : nil
        return reply
    }

    /// The supervised process or the worker that a run belongs to.
    private func place(of run: RunID) -> ProcessOutputs.Place? {
        if let (source, copy) = askEngine({ $0.owner(of: run) }) { return .init(owner: source.description, copy: copy) }
        return askEngine { $0.workplace(of: run) }.map { .init(owner: "handler/\($0.handler)", copy: $0.copy) }
    }

    /// Notes whose process begins or ends.
    func noteProcessOutput(_ input: Input) {
        switch input {
        case .runStarted(let run, _, _):
            if let place = place(of: run) { processOutputs.began(run, place) }
        case .runEnded(let run, _, let output, _):
            guard let place = place(of: run) else { return }
            let total = runs?.bytesWritten(by: run.operation) ?? output.count
            processOutputs.ended(run, place, RunOutput(end: output, total: max(total, output.count)))
        default: break
        }
    }
}

extension GetOutput.Reply {
    /// `attempt`: whose output it is, or was asked for.
    fileprivate init(_ operation: OperationSummary, _ attempt: Int, _ bytes: [UInt8]?, total: Int?) {
        let isKnown = attempt >= 1 && attempt <= operation.attempt
        self.init(operation: operation, attempt: isKnown ? attempt : nil)
        if isKnown { tell(bytes, total: total) }
        // Of an earlier attempt its own record says it.
        if isKnown, attempt == operation.attempt { lacksBeginning = operation.foundAgain }
    }

    /// Of a run that goes on.
    fileprivate init(_ operation: OperationSummary, _ attempt: Int, _ output: RunOutput) {
        self.init(operation, attempt, output.end, total: output.total)
        if output.lacksBeginning, self.attempt != nil { lacksBeginning = true }
    }

    /// `bytes`: `nil` where they are no longer kept.
    fileprivate mutating func tell(_ bytes: [UInt8]?, total: Int?) {
        (outputBytes, forgotten) = (total, bytes == nil ? true : nil)
        let text = OutputText(bytes ?? [])
        (output, outputBase64, outputCut) = (text.text, text.base64, text.isCut ? true : nil)
    }
}

/// The end of what was written, as it travels.
struct OutputText {
    /// `nil`: there is nothing.
    var text: String?
    /// Where it is not UTF-8.
    var base64: String?
    /// It is as much as is kept.
    var isCut = false

    init(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        text = String(decoding: bytes, as: UTF8.self)
        if String(validating: bytes, as: UTF8.self) == nil { base64 = Base64.encode(bytes) }
        isCut = bytes.count >= HistoryRow.outputLimit
    }
}
