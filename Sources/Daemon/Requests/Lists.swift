import ControlInterface
import Engine
import EventSources
import LinuxSystem
import Schedule
import Varlink
import WatchFile

/// The requests that list.
extension Runtime {
    func sources(_ parameters: NamedListParameters, _ role: Peer.Role, _ done: @escaping Request.Completion) {
        let page: Page<SourceID, String>
        do throws(ManagerError) {
            page = try self.page(of: engine.sourceIDs, parameters, \.description)
        } catch {
            return done(.of(error))
        }
        inTurns(over: page.items, [ListSources.Source]()) { runtime, sources, views in
            sources += views.map { runtime.source($0, runtime.engine.groupView(of: $0.id), role) }
        } then: { [next = page.next] _, sources in
            done(.of(ListSources.Reply(sources: sources, next: next)))
        }
    }

    func queues(_ parameters: NamedListParameters, _ role: Peer.Role) throws(ManagerError) -> ListQueues.Reply {
        let page = try page(of: engine.queueViews, parameters, \.definition.name)
        return ListQueues.Reply(queues: page.items.map { queue($0, role) }, next: page.next)
    }

    func semaphores(
        _ parameters: NamedListParameters, _ role: Peer.Role
    ) throws(ManagerError) -> ListSemaphores.Reply {
        let page = try page(of: engine.semaphoreViews, parameters, \.definition.name)
        let semaphores = page.items.map { view in
            var semaphore = ListSemaphores.Semaphore(view)
            (semaphore.file, semaphore.line) = place(of: "semaphore/\(view.definition.name)", role: role)
            return semaphore
        }
        return ListSemaphores.Reply(semaphores: semaphores, next: page.next)
    }

    func handlers(_ parameters: NamedListParameters, _ role: Peer.Role) throws(ManagerError) -> ListHandlers.Reply {
        let page = try page(of: engine.handlerNames, parameters, \.self)
        let names = Set(page.items)
        let views = engine.handlerViews(where: names.contains).sorted { $0.definition.name < $1.definition.name }
        return ListHandlers.Reply(handlers: views.map { handler($0, role) }, next: page.next)
    }

    /// The named one (`uploads`, `path/uploads`), or a page of all.
    private func page<Item>(
        of items: [Item], _ parameters: NamedListParameters, _ name: (Item) -> String
    ) throws(ManagerError) -> Page<Item, String> {
        let named = items.map { (name: name($0), item: $0) }
        let page: Page<(name: String, item: Item), String>
        if let wanted = parameters.name {
            let kinds = ["queue", "handler", "semaphore"].map { "\($0)/" }
            let isQualified = kinds.contains { wanted.hasPrefix($0) }
            let short = wanted.split(separator: "/").last.map(String.init) ?? wanted
            let found = named.filter { name, _ in
                name == wanted || name.hasSuffix("/" + wanted) || (isQualified && name == short)
            }
            guard !found.isEmpty else {
                let candidates = named.map { wanted.contains("/") ? $0.name : Self.shortName($0.name) }
                throw .noSuchName(name: wanted, nearest: Spelling.nearest(to: wanted, among: candidates))
            }
            page = Page(of: found, by: \.name, after: nil, limit: nil)
        } else {
            let sorted = named.sorted { $0.name < $1.name }
            page = Page(of: sorted, by: \.name, after: parameters.after, limit: parameters.limit)
        }
        return Page(items: page.items.map(\.item), next: page.next)
    }

    // MARK: Items

    /// Where a section stands in the watch files.
    private func place(of sections: String..., role: Peer.Role) -> (file: String?, line: Int?) {
        let location = role == .administrator ? sections.lazy.compactMap { self.locations[$0] }.first : nil
        return (location?.file, location?.line)
    }

    private func source(_ view: SourceView, _ group: GroupView?, _ role: Peer.Role) -> ListSources.Source {
        var source = ListSources.Source(
            name: view.id.description, kind: view.id.kind.rawValue, state: state(view),
            required: view.definition.isRequired, handlers: view.definition.routes.map(\.handler),
            counters: ControlInterface.Counters(view.counters))
        source.description = view.definition.summary
        source.suspended = view.suspensions.count
        source.suspendedBy = view.suspensions.map(ControlInterface.Suspension.init)
        source.lastEvent = view.lastEvent.map(wireTime)
        source.nextElapse = view.nextElapse.map(wireTime)
        source.neverElapses = neverElapses(view) ? true : nil
        source.watches = watchCount(view.id)
        // The descriptors of a supervised process are those of its run.
        source.descriptors = view.definition.command == nil ? descriptorCount(view.id) : nil
        if case .failed(_, let retryAt) = view.condition { source.nextTry = retryAt.map(wireTime) }
        if view.condition == .armed {
            source.reason = heldText(view) ?? refusedText(view) ?? connectionLimit(view.id)?.sentence
        }
        source.group = group.map(GroupState.init)
        source.processes = view.definition.command == nil ? nil : view.processes.map { SupervisedProcess($0, role) }
        (source.file, source.line) = place(of: source.name, role: role)
        if role == .administrator {
            source.detail = view.definition.trigger.text
            let pids = processIDs(view.id).map(Int.init)
            source.pids = pids.isEmpty ? nil : pids
            switch view.condition {
            case .waiting(let reason), .failed(let reason, _): source.reason = reason
            case .armed:
                let silence = view.silence?.isTold == true ? silenceText(view) : nil
                source.reason =
                    source.reason ?? stands[view.id].comparison?.text ?? stands[view.id].limit?.value.text ?? silence
            case .opening, .closed: break
            }
        }
        return source
    }

    private func state(_ view: SourceView) -> ListSources.Source.State {
        if view.isRemoved { return view.isListed ? .suspended : .closed }
        switch view.condition {
        case .failed: return .failed
        case .closed: return .closed
        case .waiting, .opening: return .waiting
        case .armed: return view.suspensions.isEmpty ? (view.isHeld ? .held : .armed) : .suspended
        }
    }

    private func queue(_ view: QueueView, _ role: Peer.Role) -> ListQueues.Queue {
        let definition = view.definition
        var width = 1
        if case .concurrent(let most) = definition.kind { width = most }
        var queue = ListQueues.Queue(
            name: definition.name, type: definition.kind == .serial ? .serial : .concurrent, width: width,
            qos: view.qos.rawValue, backlog: definition.backlog,
            backlogBytes: definition.backlogBytes, overflow: definition.overflow.rawValue,
            counters: ControlInterface.Counters(view.counters, over: view.over))
        queue.suspended = view.suspensions.count
        queue.suspendedBy = view.suspensions.map(ControlInterface.Suspension.init)
        queue.entries = view.entries
        queue.bytes = view.bytes
        queue.full = view.fullness.map(definition.limit)
        queue.operations = view.waiting
        queue.running = view.running
        queue.over = view.over
        queue.target = definition.target
        queue.oldest = view.oldest.map(wireTime)
        (queue.file, queue.line) = place(of: "queue/\(queue.name)", role: role)
        return queue
    }

    private func handler(_ view: HandlerView, _ role: Peer.Role) -> ListHandlers.Handler {
        let definition = view.definition
        var handler = ListHandlers.Handler(
            name: definition.name, action: definition.action.text(role), queue: definition.queue ?? "default",
            overlap: view.overlaps.map(\.rawValue).joined(separator: ", "),
            counters: ControlInterface.Counters(view.counters),
            runningPIDs: view.runningPIDs.map(Int.init), lastResult: view.lastResult.map(OperationSummary.Result.init),
            lastEnded: view.lastEnded.map(wireTime))
        handler.overlapIsDefault = definition.overlap == nil ? true : nil
        handler.workers = definition.stream == nil ? nil : view.workers.map { SupervisedProcess($0, role) }
        // One that a source has of its own stands there.
        let owners = SourceKind.allCases.map { SourceID($0, handler.name).description }
        let owner = owners.first { locations[$0] != nil } ?? ""
        (handler.file, handler.line) = place(of: "handler/\(handler.name)", owner, role: role)
        return handler
    }

    // MARK: Names

    /// The bare name of a queue or handler that there is, or was while what is remembered ended.
    func known(_ name: String, _ kind: String, _ names: [String]) throws(ManagerError) -> String {
        let bare = name.hasPrefix(kind + "/") ? String(name.dropFirst(kind.count + 1)) : name
        let meant = kind == "queue" ? QueueDefinition.aliases[bare] ?? bare : bare
        guard names.contains(meant) else {
            let candidates = name.contains("/") ? Set(names).map { "\(kind)/\($0)" } : Array(Set(names))
            throw .noSuchName(
                name: name, nearest: Spelling.nearest(to: name, among: candidates.sorted()), kinds: [kind],
                others: named(Self.shortName(name)))
        }
        return meant
    }

    /// Says of a name that is not found what was looked for, and what else has it.
    func namingKinds(_ kinds: [String], _ done: @escaping Request.Completion) -> Request.Completion {
        guard !kinds.isEmpty else { return done }
        return { [bound] answer in
            guard case .error(let reply) = answer, case .noSuchName(let name, let nearest, [], []) = ManagerError(reply)
            else { return done(answer) }
            let others = bound.value.named(Self.shortName(name))
            done(.of(.noSuchName(name: name, nearest: nearest, kinds: kinds, others: others)))
        }
    }

    /// Everything that has this bare name, with its kind.
    private func named(_ bare: String) -> [String] {
        engine.sourceViews(of: engine.sourceIDs.filter { $0.name == bare }).filter { !$0.isRemoved }
            .map(\.id.description)
            + engine.queueViews.filter { $0.definition.name == bare }.map { _ in "queue/\(bare)" }
            + engine.handlerViews.filter { !$0.isRemoved && $0.definition.name == bare }.map { _ in "handler/\(bare)" }
            + engine.semaphoreViews.filter { !$0.isRemoved && $0.definition.name == bare }
            .map { _ in "semaphore/\(bare)" }
    }

    /// `images` of `queue/images`.
    static func shortName(_ name: String) -> String {
        name.split(separator: "/").last.map(String.init) ?? name
    }
}

extension Trigger {
    /// The watched object, in a few words.
    fileprivate var text: String {
        switch self {
        case .timer(let trigger): trigger.text
        case .signal(let trigger): trigger.signals.map(LinuxSignal.name).joined(separator: " ")
        case .path(let trigger):
            (trigger.paths.map(trigger.text) + (trigger.levels?.conditions.map(\.text) ?? [])).joined(separator: " ")
        case .process(.pidFile(let path)): path.printable
        case .process(.match(let match)): match.pattern.printable
        case .process(.command(let command)):
            command.process.action.text(.administrator).replacing("Exec=", with: "Command=")
        case .group(let trigger): "Members=\(trigger.members.joined(separator: " "))"
        case .unit(let trigger): trigger.units.joined(separator: " ")
        case .custom(let trigger): "Merge=\(trigger.merge.rawValue)"
        case .descriptor(let trigger): trigger.text
        }
    }
}

extension TimerTrigger {
    /// Its keys, as they stand in a watch file.
    fileprivate var text: String {
        let elapses = calendars.map { "OnCalendar=\($0)" } + crons.map { "OnCron=\($0)" }
        let spans = [("EverySec", every), ("AfterSec", after), ("OnStartupSec", onStartup), ("OnBootSec", onBoot)]
            .compactMap { name, span in span.map { "\(name)=\($0.brief)" } }
        return (elapses + spans).joined(separator: " ")
    }
}

extension SupervisedProcess {
    init(_ view: SupervisedView, _ role: Peer.Role) {
        self.init(
            copy: view.copy, state: State(rawValue: view.stage.rawValue.replacing("-", with: "_")) ?? .down,
            wanted: view.isWanted, since: wireTime(view.since), restarts: view.restarts)
        pid = view.pid.map(Int.init)
        nextStart = view.nextStart.map(wireTime)
        lastEnd = role == .administrator ? view.lastEnd : nil
    }
}

extension SupervisedProcess {
    init(_ view: WorkerView, _ role: Peer.Role) {
        self.init(
            copy: view.copy, state: State(rawValue: view.stage.rawValue.replacing("-", with: "_")) ?? .down,
            wanted: !view.isIdle, since: wireTime(view.since), restarts: view.restarts)
        pid = view.pid.map(Int.init)
        nextStart = view.nextStart.map(wireTime)
        lastEnd = role == .administrator ? view.lastEnd : nil
        lines = view.held
        operations = view.holding.isEmpty ? nil : view.holding.map(Int.init)
    }
}

extension HandlerAction {
    fileprivate func text(_ role: Peer.Role) -> String {
        switch self {
        case .exec(let commands):
            guard role == .administrator, let program = commands.first?.program else { return "Exec" }
            return "Exec=" + program.shown + (commands.count > 1 ? " and \(commands.count - 1) more" : "")
        case .stream(let stream):
            guard role == .administrator, let program = stream.command.program else { return "Stream" }
            return "Stream=" + program.shown
        case .log: return "Log"
        case .emit(let source, _): return "Emit=\(source)"
        case .unit(let action):
            guard role == .administrator, let first = action.units.first else { return "Unit" }
            let more = action.units.count > 1 ? " and \(action.units.count - 1) more" : ""
            let name = first.expanded { _ in Array("…".utf8) }.printable
            return "Unit=\(name)\(more), \(action.verb.rawValue)"
        case .client(.suspend): return "drains its queue"
        case .client(.hold): return "holds units for a client"
        case .client(.call): return "starts something at its time"
        case .process(let action): return "Process=\(action.process), \(action.verb.name)"
        case .mail(let addresses):
            return role == .administrator ? "Mail=" + addresses.joined(separator: " ") : "Mail"
        }
    }
}

extension PathLevels.Condition {
    /// As people know it: `while /a exists`.
    fileprivate var text: String {
        switch self {
        case .exists(let path): "when \(path.printable) exists"
        case .existsGlob(let pattern): "when \(pattern) exists"
        case .notEmpty(let path): "when \(path.printable) is not empty"
        }
    }
}

extension Template {
    fileprivate var shown: String { expanded { _ in Array("…".utf8) }.printable }
}
