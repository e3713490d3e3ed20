import Engine
import Handlers
import LinuxSystem
import Schedule
import Systemd
import WatchFile

/// One readable line for each event and each run: in the terminal all of them, in the journal the runs.
enum EventLog {
    static func log(_ report: Report, _ logger: Logger) {
        switch report {
        case .event(let event, let origin, let handlers, let isKept):
            let names = handlers.joined(separator: ", ")
            let goal = isKept ? ", kept until \(origin) is resumed" : handlers.isEmpty ? "" : " → \(names)"
            logger.log(
                eventLevel(logger), "\(origin)  \(EventText.sentence(event))\(goal)",
                [("WATCHD_SOURCE", origin.description)])
        case .operation, .progress: break
        case .condition(let id, .armed, let processes) where !processes.isEmpty:
            let list = processes.map(String.init).joined(separator: ", ")
            logger.log(
                .info, "\(id): runs, process \(list)", [("WATCHD_SOURCE", id.description)])
        // As that of every other source.
        case .condition: break
        case .retrying(let view):
            logger.log(
                .warning, "\(view.handler) \(view.id)  \(retry(view))", fields(view, .failed), id: .attemptFailed)
        case .overdue(let view):
            logger.log(
                .warning, "\(view.handler) \(view.id)  \(view.reason ?? "")",
                [
                    ("WATCHD_HANDLER", view.handler), ("WATCHD_SOURCE", view.origin.description),
                    ("WATCHD_QUEUE", view.queue), ("WATCHD_OPERATION", "\(view.id)"),
                ])
        case .worker(let news): log(news, logger)
        case .ended(let view): log(view, logger)
        case .refused(let delivery): log(delivery, logger)
        case .missed(let id, let count, let reason):
            logger.log(
                .notice, "\(id): \(MissedText.sentence(count, reason))", [("WATCHD_SOURCE", id.description)])
        case .loop(let loop):
            logger.log(
                .warning, "\(loop.source): \(LoopText.sentence(loop)); \(LoopText.consequence(loop)). \(LoopText.help)",
                [("WATCHD_SOURCE", loop.source), ("WATCHD_HANDLER", loop.handler)])
        }
    }

    static func eventLevel(_ logger: Logger) -> LogLevel { logger.isJournal ? .debug : .info }

    /// Events of a source in a second that have no line each.
    static func more(_ count: Int, of origin: Origin, _ logger: Logger) {
        let events = counted(count, "more event")
        logger.log(
            eventLevel(logger), "\(origin)  \(events) in a second", [("WATCHD_SOURCE", origin.description)])
    }

    private static func log(_ news: WorkerNews, _ logger: Logger) {
        let fields = [("WATCHD_HANDLER", news.handler)]
        let worker = "handler/\(news.handler): worker\(news.isOneOfSeveral ? " \(news.copy)" : "")"
        guard let end = news.end else {
            return logger.log(.info, "\(worker) runs, process \(news.pid.map(String.init) ?? "unknown")", fields)
        }
        let lines = counted(news.givenBack, "line")
        let parts = [
            "\(worker): \(end)", news.givenBack == 0 ? nil : "it had \(lines) still",
            news.pause.map { "starting again in \(SpanText.remaining($0))" },
        ]
        logger.log(news.isTrouble ? .warning : .info, parts.compactMap { $0 }.joined(separator: "; "), fields)
    }

    private static func log(_ delivery: RefusedDelivery, _ logger: Logger) {
        let (handler, origin, result) = (delivery.handler, delivery.origin, delivery.result)
        let what = "\(EventText.sentence(delivery.event)) of \(origin) \(result.rawValue)"
        logger.log(
            result == .skipped ? .info : .warning, "\(handler): \(what): \(delivery.reason)",
            [
                ("WATCHD_HANDLER", handler), ("WATCHD_SOURCE", origin.description),
                ("WATCHD_RESULT", result.rawValue),
            ], id: .deliveryRefused)
    }

    /// Where a source stands now; `before`: where it stood.
    static func source(_ id: SourceID, _ condition: SourceCondition, before: SourceCondition?, _ logger: Logger) {
        let fields = [(name: "WATCHD_SOURCE", value: id.description)]
        switch condition {
        case .failed(let reason, let retryAt):
            let next = retryAt.map { "; trying again in \(RetryText.delay(until: $0, now: Linux.now(.realtime)))" }
            logger.log(.warning, "\(id): \(reason)\(next ?? "")", fields, id: .sourceFailed)
        case .waiting(let reason): logger.log(.info, "\(id): \(reason)", fields)
        case .armed:
            guard case .failed = before else { return logger.log(.debug, "\(id): armed", fields) }
            logger.log(.notice, "\(id): armed again", fields, id: .sourceArmedAgain)
        case .opening, .closed: break
        }
    }

    /// At the start: its process still runs, and is watched from now on.
    static func adopted(_ request: AdoptRequest, _ logger: Logger) {
        let (handler, run) = (request.definition.value.name, request.run)
        if request.seen != nil {
            let what = request.isUnwanted ? ", but nothing asks for it any more: it is ended" : ": watched again"
            return logger.log(
                .notice, "process/\(handler): process \(request.pid) still runs\(what)",
                [("WATCHD_SOURCE", "process/\(handler)"), ("OBJECT_PID", "\(request.pid)")])
        }
        let who = request.isWorker ? "handler/\(handler): worker" : "\(handler) \(run.operation) "
        let attempt = [("WATCHD_OPERATION", "\(run.operation)"), ("WATCHD_ATTEMPT", "\(run.attempt)")]
        logger.log(
            .notice, "\(who) still runs, process \(request.pid): watched again",
            [("WATCHD_HANDLER", handler), ("OBJECT_PID", "\(request.pid)")] + (request.isWorker ? [] : attempt),
            id: .handlerAdopted)
    }

    /// At a stop: `OnStop=leave`.
    static func left(_ request: AdoptRequest, _ logger: Logger) {
        let (handler, run) = (request.definition.value.name, request.run)
        logger.log(
            .notice, "\(handler) \(run.operation)  goes on, process \(request.pid): the next watchd watches it",
            [
                ("WATCHD_HANDLER", handler), ("WATCHD_OPERATION", "\(run.operation)"),
                ("WATCHD_ATTEMPT", "\(run.attempt)"), ("OBJECT_PID", "\(request.pid)"),
            ])
    }

    /// It starts, and may have run before.
    static func redelivered(_ request: StartRequest, _ logger: Logger) {
        let (handler, run) = (request.definition.value.name, request.run)
        let isLine = request.definition.value.stream != nil
        let sentence =
            isLine
            ? "goes to a worker again: one may have had it before"
            : request.wasStopped
                ? "starts again: the stop before has ended its run"
                : "starts again: it may have run before watchd ended"
        logger.log(
            isLine ? .info : .notice, "\(handler) \(run.operation)  \(sentence)",
            [
                ("WATCHD_HANDLER", handler), ("WATCHD_SOURCE", request.origin.description),
                ("WATCHD_QUEUE", request.queue), ("WATCHD_OPERATION", "\(run.operation)"),
                ("WATCHD_ATTEMPT", "\(run.attempt)"),
            ], id: .operationRedelivered)
    }

    /// A line of a source's command on standard error.
    static func line(_ text: [UInt8], of source: SourceID, _ logger: Logger) {
        logger.write(
            .info, "\(source.name)| \(String(decoding: text, as: UTF8.self))",
            [("WATCHD_SOURCE", source.description)])
    }

    private static func log(_ view: OperationView, _ logger: Logger) {
        guard let result = view.result else { return }
        let level: LogLevel =
            switch result {
            case .done, .skipped, .annulled, .superseded: .info
            case .cancelled: .notice
            case .dropped, .failed, .stopped: .warning
            }
        logger.log(level, "\(view.handler) \(view.id)  \(sentence(view, result))", fields(view, result), id: id(result))
    }

    private static func id(_ result: EngineResult) -> MessageID {
        switch result {
        case .done: .operationDone
        case .failed, .stopped: .operationFailed
        case .cancelled: .operationCancelled
        case .skipped: .operationSkipped
        case .dropped: .operationDropped
        case .annulled: .operationAnnulled
        case .superseded: .operationSuperseded
        }
    }

    private static func sentence(_ view: OperationView, _ result: EngineResult) -> String {
        var text = result.rawValue
        if let started = view.started, let ended = view.ended { text += " in \(SpanText.elapsed(ended - started))" }
        if let exit = view.exit, exit != .exited(0) { text += ", \(EventText.exit(exit))" }
        if let reason = view.reason { text += ": \(reason)" }
        if let successor = view.successor { text += "; its events are in operation \(successor)" }
        return text
    }

    /// `try 1 failed in 40s, exit 12; again in 10s`.
    private static func retry(_ view: OperationView) -> String {
        // A service may have ended long before that is known.
        let pause = view.nextAttempt.map { $0 - max(view.ended ?? $0, Linux.now(.realtime)) }
        let again = pause.map { $0 > 0 ? "in \(SpanText.remaining($0))" : "at once" } ?? "soon"
        return "try \(view.attempt) \(sentence(view, .failed)); again \(again)"
    }

    private static func fields(
        _ view: OperationView, _ result: EngineResult
    ) -> [(name: String, value: String)] {
        var fields = [
            (name: "WATCHD_HANDLER", value: view.handler), (name: "WATCHD_SOURCE", value: view.origin.description),
            (name: "WATCHD_QUEUE", value: view.queue), (name: "WATCHD_OPERATION", value: "\(view.id)"),
            (name: "WATCHD_ATTEMPT", value: "\(view.attempt)"), (name: "WATCHD_RESULT", value: result.rawValue),
        ]
        switch view.exit {
        case .exited(let code): fields.append((name: "WATCHD_EXIT_STATUS", value: "\(code)"))
        case .signaled(let number): fields.append((name: "WATCHD_SIGNAL", value: LinuxSignal.name(number)))
        case nil: break
        }
        if let started = view.started, let ended = view.ended {
            fields.append((name: "WATCHD_DURATION_USEC", value: "\(max(0, ended - started))"))
        }
        return fields
    }
}
