package import ControlInterface
import Varlink

/// Values of the wire types: `full` ones have every member, `minimal` ones only those that are never missing.
package enum Samples {
    package static let full = Samples.make(isFull: true)
    package static let minimal = Samples.make(isFull: false)

    package static let now = "2026-11-20T09:48:02.000000Z"

    private static func make(isFull: Bool) -> [Sample] {
        let id = isFull ? completeOperation : waitingOperation
        return [
            Sample(GetStatus.self, .init(), isFull ? status : idleStatus),
            Sample(
                ListSources.self, isFull ? .init(name: "uploads", after: "a", limit: 10) : .init(),
                .init(sources: [isFull ? source : plainSource], next: isFull ? "path/uploads" : nil)),
            Sample(
                ListQueues.self, isFull ? .init(name: "images", after: "a", limit: 10) : .init(),
                .init(queues: [isFull ? queue : plainQueue], next: isFull ? "images" : nil)),
            Sample(
                ListSemaphores.self, isFull ? .init(name: "archive", after: "a", limit: 10) : .init(),
                .init(
                    semaphores: [isFull ? semaphore : .init(name: "archive", value: 0, available: 0)],
                    next: isFull ? "archive" : nil)),
            Sample(
                ListNames.self, isFull ? .init(kind: .customs, prefix: "po") : .init(kind: .names),
                .init(names: ["custom/poke"])),
            Sample(
                Explain.self, isFull ? .init(id: 4711) : .init(name: "images"),
                isFull ? explanation : .init(object: "queue/images", steps: [.init(code: "idle", sentence: "idle")])),
            Sample(
                Signal.self, isFull ? .init(name: "archive", count: 2) : .init(name: "archive"),
                .init(available: 2)),
            Sample(
                Drain.self, isFull ? .init(queue: "images", reason: "a disk", timeoutUsec: 5_000_000) : .init(),
                .init(queues: ["images"], waiting: isFull ? 3 : nil)),
            Sample(
                Acquire.self,
                isFull
                    ? .init(name: "gpu", count: 2, pid: 4242, command: ["make"], timeoutUsec: 5_000_000)
                    : .init(name: "gpu", pid: 4242),
                .init(operation: 4711, name: "gpu", members: isFull ? ["0", "1"] : nil)),
            Sample(
                EnterGroup.self, isFull ? .init(name: "deploy", pid: 4242) : .init(name: "deploy"),
                .init(ticket: 17)),
            Sample(LeaveGroup.self, .init(name: "deploy", ticket: 17), .init()),
            Sample(
                Wait.self, isFull ? .init(id: 4711, timeoutUsec: 5_000_000) : .init(name: "images"),
                isFull ? .init(operation: completeOperation) : .init()),
            Sample(
                ListHandlers.self, isFull ? .init(name: "thumbnail", after: "a", limit: 10) : .init(),
                .init(handlers: [isFull ? handler : plainHandler], next: isFull ? "thumbnail" : nil)),
            Sample(
                ListOperations.self,
                isFull
                    ? .init(queue: "images", handler: "thumbnail", state: .finished, limit: 10, after: 3) : .init(),
                .init(operations: [id], held: isFull ? [held] : [], next: isFull ? 4711 : nil)),
            Sample(
                ListHistory.self, isFull ? everyFilter : .init(),
                .init(operations: isFull ? [completeOperation] : [], next: isFull ? "1763654645123456-4711" : nil)),
            Sample(GetOperation.self, .init(id: id.id), .init(operation: isFull ? detail : plainDetail)),
            Sample(
                GetOutput.self,
                isFull ? .init(id: id.id, attempt: 2) : .init(name: "web", copy: 2), isFull ? output : processOutput),
            Sample(
                Emit.self,
                isFull
                    ? traced(.init(name: "poke", data: 41, payload: payload, wait: true, at: now, inUsec: 5_000_000))
                    : .init(name: "poke"),
                isFull
                    ? .init(event: 90_210, operation: 4711, result: .failed, exitStatus: 3, reason: "no", unsaved: "no")
                    : .init(event: 90_210)),
            Sample(SetPriority.self, .init(id: 4711, priority: "high"), .init(unsaved: isFull ? "no" : nil)),
            Sample(
                EmitAll.self,
                .init(
                    events: isFull ? [traced(.init(name: "poke", data: 41, payload: payload))] : [.init(name: "poke")]),
                .init(events: [90_210])),
            Sample(
                Run.self,
                isFull ? completeRun : .init(name: "thumbnail"),
                isFull
                    ? .init(
                        operations: [5, 6], result: .failed, exitStatus: 12, reason: "no space", unsaved: "no",
                        changes: 2)
                    : .init(operations: [5])),
            Sample(
                Submit.self, isFull ? everyWish : .init(queue: "images", command: ["true"]),
                isFull
                    ? .init(operation: 5, result: .failed, exitStatus: 12, reason: "no space") : .init(operation: 5)),
            Sample(
                Suspend.self,
                isFull
                    ? .init(name: "images", reason: "pg upgrade", until: now, wait: true, timeoutUsec: 5_000_000)
                    : .init(name: "images"),
                .init(name: "queue/images", suspended: 1, unsaved: isFull ? "no space left on device" : nil)),
            Sample(
                Resume.self, .init(name: "images"),
                .init(name: "queue/images", suspended: 0, unsaved: isFull ? "no space left on device" : nil)),
            Sample(
                Cancel.self, isFull ? .init(id: 4711) : .init(queue: "images"),
                .init(cancelled: 3, unsaved: isFull ? "no space left on device" : nil)),
            Sample(
                Retry.self, isFull ? .init(id: 4711) : .init(name: "backup"),
                .init(operations: [.init(failed: 4711, operation: 4713)])),
            Sample(
                Forget.self, isFull ? .init(id: 4711) : .init(name: "backup"), .init(operations: [4711])),
            Sample(
                Reload.self,
                isFull
                    ? .init(plan: true, files: [.init(name: "b.watch", text: "[Queue q]\n", dropInOf: "a.watch")])
                    : .init(),
                .init(
                    added: ["path/new"], changed: ["queue/images"], removed: ["handler/old"], kept: ["timer/nightly"],
                    warnings: ["queue/old still has 3 operations"], diagnostics: ["a.watch:1:1: warning: unused"])),
            Sample(Stop.self, .init(), .init()),
            Sample(
                Follow.self, isFull ? .init(since: 7, sinceTime: now, name: "thumbnail", output: true) : .init(),
                followed[0]),
        ] + processes(isFull)
    }

    /// All of them but `name`, with which `handler` and `source` cannot stand.
    private static let everyWish: Submit.Parameters = {
        var parameters = Submit.Parameters(queue: "images", command: ["bHM=", "/w=="])
        (parameters.environment, parameters.directory, parameters.umask) = (["QT0x"], "L3Nydg==", 0o077)
        (parameters.base64, parameters.name, parameters.key) = (true, "list", "disk")
        (parameters.after, parameters.at, parameters.inUsec) = ([4711], now, 5_000_000)
        (parameters.retry, parameters.timeoutUsec, parameters.barrier) = (3, 60_000_000, true)
        (parameters.priority, parameters.user, parameters.wait) = ("high", "backup", true)
        parameters.requires = true
        (parameters.awaited, parameters.traceparent) = (true, traceparent)
        return parameters
    }()

    private static let everyFilter: ListHistory.Parameters = {
        var parameters = ListHistory.Parameters(unsettled: true, limit: 10, after: "1763654645123456-4712")
        parameters.handler = "backup"
        parameters.source = "timer/nightly"
        parameters.result = .failed
        (parameters.since, parameters.until) = ("2026-11-19T00:00:00.000000Z", now)
        return parameters
    }()

    // MARK: Status

    package static let status: GetStatus.Reply = {
        var status = idleStatus
        status.files = ["/etc/watchd/a.watch", "/etc/watchd/b.watch", "/etc/watchd/c.watch"]
        status.sections = 41
        status.problems = [
            .init(
                object: "path/media", since: "2026-11-20T02:32:30.570000Z",
                problem: "42 of 1310 folders polled each 30s: inotify watches used up", action: "heals by itself",
                help: "sysctl fs.inotify.max_user_watches=65536")
        ]
        status.problems[0].nextTry = "2026-11-20T09:48:07.000000Z"
        status.pauses = [.init(object: "queue/database", suspension: suspension, kept: 2)]
        status.stopped = [.init(object: "process/web", by: "root", since: "2026-11-20T09:08:02.000000Z")]
        status.totals = counters
        status.processes = 2
        status.operationsPending = 5
        status.operationsRunning = 1
        status.next = [
            .init(source: "timer/report", time: "2026-11-20T10:00:02.000000Z", handlers: ["report"]),
            .init(source: "timer/nightly", time: "2026-11-21T02:30:00.000000Z", handlers: ["backup", "tell"]),
        ]
        status.running = [operationRunning]
        status.waiting = [waitingOperation, backingOff]
        status.held = [held]
        status.recent = [superseded, operation, yesterdaysOperation]
        status.semaphores = [semaphore]
        status.groups = [group]
        status.store = store
        return status
    }()

    package static let idleStatus: GetStatus.Reply = {
        var status = GetStatus.Reply(
            version: "1.0", host: "db1", pid: 712, started: "2026-11-18T08:12:00.000000Z",
            uptimeUsec: 178_562_000_000, state: .running)
        status.files = ["/etc/watchd/a.watch"]
        status.sections = 1
        status.maxProcesses = 64
        status.memoryBytes = 7_913_472
        return status
    }()

    package static let store: GetStatus.Store = {
        var store = GetStatus.Store(state: .failing)
        store.path = "/var/lib/watchd"
        store.reason = "no space left for /var/lib/watchd/watchd.db"
        store.since = "2026-11-20T09:40:00.000000Z"
        store.historyBytes = 3 << 20
        store.maxHistoryBytes = 256 << 20
        return store
    }()

    package static let counters: Counters = {
        var counters = Counters()
        counters.accepted = 1615
        counters.done = 1601
        counters.failed = 1
        counters.skipped = 3
        counters.running = 1
        counters.pending = 9
        counters.coalesced = 1461
        return counters
    }()

    package static let suspension = Suspension(
        by: "root", reason: "pg upgrade", since: "2026-11-20T09:08:02.000000Z", until: "2026-11-20T11:00:00.000000Z")

    // MARK: Lists

    package static let held = HeldEvents(
        source: "path/uploads", handlers: ["thumbnail"], events: 12, since: "2026-11-20T09:47:32.000000Z",
        waitingFor: "RateLimit=1/1min, 30s more")

    package static let semaphore: ListSemaphores.Semaphore = {
        var semaphore = ListSemaphores.Semaphore(name: "archive", value: 2, available: 0, waiting: 3)
        (semaphore.file, semaphore.line) = ("/etc/watchd/archive.watch", 1)
        semaphore.members = ["left", "right"]
        semaphore.holders = [.init(operation: 4711, handler: "backup", count: 2, members: ["left", "right"])]
        return semaphore
    }()

    package static let group = GroupState(name: "group/deploy", outstanding: 2, entered: 1)

    package static let source: ListSources.Source = {
        var source = plainSource
        source.description = "Pictures of the web shop"
        source.reason = "a queue's backlog is full"
        source.suspended = 1
        source.suspendedBy = [suspension]
        source.lastEvent = "2026-11-20T09:44:10.000000Z"
        source.nextElapse = "2026-11-20T10:00:02.000000Z"
        source.neverElapses = false
        source.nextTry = "2026-11-20T09:48:07.000000Z"
        source.watches = 12
        source.descriptors = 1
        source.detail = "/srv/uploads"
        source.group = group
        source.processes = [process]
        source.pids = [4242]
        (source.file, source.line) = ("/etc/watchd/uploads.watch", 3)
        return source
    }()

    package static let process: SupervisedProcess = {
        var process = plainProcess
        process.pid = 4242
        process.nextStart = "2026-11-20T10:00:02.000000Z"
        process.lastEnd = "exit 3 after 2s"
        (process.lines, process.operations) = (2, [4711, 4712])
        return process
    }()

    package static let plainProcess = SupervisedProcess(
        copy: 1, state: .backingOff, wanted: true, since: "2026-11-20T09:44:10.000000Z", restarts: 3)

    /// Start, stop and restart look alike.
    private static func processes(_ isFull: Bool) -> [Sample] {
        let name = ProcessName(name: "web")
        let reply = ProcessCopies(name: "process/web", processes: [isFull ? process : plainProcess])
        return [
            Sample(Start.self, name, reply), Sample(StopProcess.self, name, reply), Sample(Restart.self, name, reply),
        ]
    }

    package static let plainSource = ListSources.Source(
        name: "path/uploads", kind: "path", state: .armed, required: false, handlers: ["thumbnail"],
        counters: counters)

    package static let queue: ListQueues.Queue = {
        var queue = plainQueue
        queue.suspended = 1
        queue.suspendedBy = [suspension]
        queue.entries = 31
        queue.operations = 9
        queue.running = 2
        queue.target = "disk"
        queue.oldest = "2026-11-20T09:46:02.000000Z"
        queue.full = "BacklogBytes=64M"
        (queue.file, queue.line) = ("/etc/watchd/uploads.watch", 9)
        return queue
    }()

    package static let plainQueue = ListQueues.Queue(
        name: "images", type: .concurrent, width: 4, backlog: 10_000, overflow: "block", counters: counters)

    package static let handler: ListHandlers.Handler = {
        var handler = ListHandlers.Handler(
            name: "thumbnail", action: "Exec=/usr/bin/convert %p -thumbnail 200x200 /srv/thumbs/%f", queue: "images",
            overlap: "wait", counters: counters, runningPIDs: [4242], lastResult: .done, lastEnded: now)
        (handler.file, handler.line) = ("/etc/watchd/uploads.watch", 14)
        handler.workers = [process]
        handler.overlapIsDefault = true
        return handler
    }()

    package static let plainHandler = ListHandlers.Handler(
        name: "tell", action: "Log=done", queue: "default", overlap: "wait", counters: Counters())

    // MARK: Operations

    package static let operation: OperationSummary = {
        var operation = OperationSummary(
            id: 4711, handler: "backup", queue: "default", source: "timer/nightly", state: .finished, entries: 1,
            deliveries: 2, cause: "timer/nightly 02:30", submitted: "2026-11-20T02:30:00.001000Z", attempt: 3)
        operation.key = "backup"
        operation.result = .failed
        operation.waitingFor = "4709 (same handler)"
        operation.started = "2026-11-20T02:30:00.902000Z"
        operation.ended = "2026-11-20T02:32:30.570000Z"
        operation.tookUsec = 41_000_000
        operation.pid = 4242
        operation.exitStatus = 12
        operation.signal = "SIGKILL"
        operation.reason = "rsync: connection refused"
        return operation
    }()

    package static func traced(_ emission: Emit.Parameters) -> Emit.Parameters {
        var emission = emission
        emission.traceparent = traceparent
        return emission
    }

    static let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    /// It has every member, as no call may have.
    package static let completeRun: Run.Parameters = {
        var run = Run.Parameters(
            name: "thumbnail", paths: ["/srv/a.jpg"], lines: ["x"], data: 3, wait: true, changed: false, at: now,
            inUsec: 5_000_000)
        run.pathsBase64 = ["L3Nydi//"]
        (run.awaited, run.traceparent) = (true, traceparent)
        return run
    }()

    /// It has every member, as no operation ever has.
    package static let completeOperation: OperationSummary = {
        var operation = Samples.operation
        operation.waitReason = "key"
        operation.progress = "43%"
        operation.traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
        (operation.spanID, operation.parentSpanID) = ("53995c3f42cd8ad8", "00f067aa0ba902b7")
        operation.usualUsec = 39_000_000
        operation.dependencies = [4708]
        operation.successor = 4712
        operation.nextAttempt = "2026-11-20T09:48:12.000000Z"
        operation.notBefore = "2026-11-20T09:48:12.000000Z"
        operation.parts = 4
        operation.partsEnded = 3
        operation.durable = true
        operation.redelivered = true
        operation.byHand = true
        operation.settled = true
        operation.unsaved = "no space left"
        operation.retryObstacle = "the descriptor that it read is gone"
        operation.used = resourcesUsed
        (operation.foundAgain, operation.leftProcesses) = (true, 2)
        (operation.unit, operation.invocationID) = ("watchd-run-1-1.h.0.service", "0123456789abcdef0123456789abcdef")
        operation.acquired = ["archive": ["left", "right"]]
        return operation
    }()

    package static let yesterdaysOperation: OperationSummary = {
        var operation = OperationSummary(
            id: 4601, handler: "ingest", queue: "default", source: "path/in", state: .finished, entries: 1,
            deliveries: 1, cause: "/srv/in/a\u{1b}[2J.csv", submitted: "2026-11-19T18:04:03.000000Z", attempt: 1)
        operation.result = .done
        operation.ended = "2026-11-19T18:04:05.123456Z"
        operation.tookUsec = 1_340_000
        return operation
    }()

    package static let operationRunning: OperationSummary = {
        var operation = OperationSummary(
            id: 4790, handler: "sync", queue: "net", source: "path/data", state: .executing, entries: 212,
            deliveries: 212, cause: "path/data, 212 changes", submitted: "2026-11-20T09:34:01.000000Z", attempt: 1)
        operation.started = "2026-11-20T09:34:02.000000Z"
        operation.pid = 4300
        return operation
    }()

    /// It has failed once and is tried again.
    package static let backingOff: OperationSummary = {
        var operation = OperationSummary(
            id: 4805, handler: "mail", queue: "net", source: "timer/mail", state: .pending, entries: 1, deliveries: 1,
            cause: "timer/mail", submitted: "2026-11-20T09:47:00.000000Z", attempt: 1)
        operation.waitReason = "backing-off"
        operation.nextAttempt = "2026-11-20T09:48:12.000000Z"
        return operation
    }()

    package static let superseded: OperationSummary = {
        var operation = OperationSummary(
            id: 4649, handler: "build", queue: "net", source: "path/src", state: .finished, entries: 1, deliveries: 1,
            cause: "path/src", submitted: "2026-11-20T09:46:59.000000Z", attempt: 1)
        operation.result = .superseded
        operation.started = "2026-11-20T09:47:00.000000Z"
        operation.ended = "2026-11-20T09:47:08.000000Z"
        operation.tookUsec = 8_000_000
        operation.successor = 4650
        return operation
    }()

    package static let waitingOperation = OperationSummary(
        id: 4803, handler: "sync", queue: "net", source: nil, state: .pending, entries: 31, deliveries: 31,
        cause: "path/data, 31 changes", submitted: "2026-11-20T09:46:02.000000Z")

    package static let resourcesUsed = ResourcesUsed(
        .process, cpuUsec: 1_500_000, peakMemoryBytes: 12_345_678, readBytes: 4096, writtenBytes: 8192)

    package static let detail: OperationDetail = {
        var detail = OperationDetail(
            summary: completeOperation, events: [event], eventsOmitted: 3,
            runs: [
                {
                    var run = OperationRun(attempt: 3, pid: 4242, started: "2026-11-20T02:31:49.000000Z")
                    run.ended = "2026-11-20T02:32:30.570000Z"
                    run.result = .failed
                    run.exitStatus = 12
                    run.signal = "SIGKILL"
                    run.reason = "rsync: connection refused"
                    run.used = resourcesUsed
                    (run.foundAgain, run.leftProcesses) = (true, 2)
                    (run.unit, run.invocationID) = ("a.service", "0123456789abcdef0123456789abcdef")
                    run.spanID = "53995c3f42cd8ad8"
                    return run
                }()
            ], output: "rsync: connection refused\n\u{1b}[31mred\n", outputBase64: "/w==", startedOperations: [4712])
        (detail.outputCut, detail.outputBytes, detail.withheld) = (false, 27, false)
        return detail
    }()

    package static let output: GetOutput.Reply = {
        var output = GetOutput.Reply(operation: completeOperation, attempt: completeOperation.attempt)
        (output.output, output.outputBase64) = (detail.output, detail.outputBase64)
        (output.outputCut, output.outputBytes, output.forgotten) = (false, 27, false)
        (output.source, output.process) = ("process/web", process)
        output.lacksBeginning = true
        return output
    }()

    package static let processOutput = GetOutput.Reply()

    /// As whoever may only read names and states is told it.
    package static let withheldDetail: OperationDetail = {
        var detail = OperationDetail(summary: completeOperation, events: [], eventsOmitted: 4)
        detail.withheld = true
        return detail
    }()

    package static let plainDetail = OperationDetail(
        summary: waitingOperation, events: [], runs: [OperationRun(attempt: 1, started: now)])

    package static let explanation: Explain.Reply = {
        var first = Explain.Step(time: "2026-11-20T02:30:00.001000Z", code: "submitted", sentence: "queued on default")
        first.operation = 4711
        first.other = 4709
        first.section = "timer/nightly"
        first.file = "/etc/watchd/nightly.watch"
        first.line = 13
        var second = Explain.Step(code: "barrier", sentence: "barrier: 4 operations before it")
        second.section = "queue/default"
        return Explain.Reply(object: "handler/backup", operation: completeOperation, steps: [first, second])
    }()
}
