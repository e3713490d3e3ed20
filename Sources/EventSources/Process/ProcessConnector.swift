import Engine
import LinuxSystem
import WatchFile

/// The one subscription to the kernel's process connector, for all sources with `Match=`; open while there is one.
///
/// Only processes that some source wants are kept in mind: by their executable, which is read when they are executed,
/// so that their end can be told by it. One that has ended before its executable could be read may have been anybody's:
/// it counts as a gap of every source, and so does what the kernel drops when watchd is too slow, or when it has no
/// memory: it says so, or the numbers of its reports do. After such a drop the processes that are kept in mind are
/// compared with those there are, so that no end of them is lost. A storm is told
/// once a second, and looked at as often. Nothing is polled. Confined to its context.
final class ProcessConnector {
    /// A listener to processes.
    struct Listener {
        var patterns: [ExecutablePattern]
        var events: Set<ProcessEvent>
    }

    /// A process that some source wants.
    private struct Known {
        var executable: [UInt8]
        var listeners: [SourceID]
        /// Boot-time microsecond.
        var started: Int64?
        /// The monotonic microsecond before the executable was read; `nil`: it is that of the process that forked it.
        var read: Int64?
        /// It writes a core, and ends then; with which signal its end tells.
        var dumpsCore = false

        /// Whether the process of this number that was started then is still the same. Of one that was forked `started`
        /// is when that was read, which may be later; another one of its number was started after its end.
        func isSame(_ other: Int64?) -> Bool {
            guard let started, let other else { return true }
            return other <= started
        }

        /// Whether the executable was read after the execution of this monotonic microsecond. A report may come long
        /// after that: the process may have ended by then, or its file have another name.
        func tells(executionAt at: Int64) -> Bool { read.map { at < $0 } ?? false }
    }

    /// Why it is not known what a process executed.
    private enum Blindness: String {
        case ended = "a process ended before its executable could be read"
        case notAllowed = "the executables of other users cannot be read, which needs root (CAP_SYS_PTRACE)"
    }

    private static let eventsPerTurn = 1000
    /// Bytes that the kernel keeps while watchd is busy: some 10 000 events.
    static let usualBuffer = 4 << 20
    /// Processes kept in mind; of more than that the ends are not told.
    private static let knownLimit = 100_000
    /// Microseconds in which the kernel answers the subscription.
    private static let patience = 2_000_000
    /// Microseconds in which what is missing is told together.
    private static let gapSpan = 1_000_000

    private let environment: SourceEnvironment
    private let buffer: Int
    private let executable: @Sendable (Int32) -> [UInt8]?
    private var listeners: [SourceID: Listener] = [:]
    /// Those of them that have been told that they are.
    private var armed: Set<SourceID> = []
    private var known: [Int32: Known] = [:]
    private var socket: FileDescriptor?
    private var token: UInt64?
    private var numbers = ProcessReportNumbers()
    private var isAcknowledged = false
    private var retry = Retry()
    /// A list of all processes is on its way; a process that ended unknown meanwhile is told when it comes.
    private var isScanning = false
    /// When each process last executed a program meanwhile, in monotonic microseconds, `max` for one whose end is told:
    /// what was read before that is not taken from the list.
    private var movedSinceScan: [Int32: Int64] = [:]
    private var endedSinceScan: [Int32: Exit] = [:]
    private var mustScanAgain = false
    /// The kernel has dropped reports, and the processes there are have not been looked at since.
    private var isBehind = false
    /// The missing reports that are not told yet.
    private var missing = 0
    /// The warnings in the log of a source about processes that nobody could see.
    private var warned: [SourceID: Set<Blindness>] = [:]
    private var attempts = 0
    private var bound: QueueBound<ProcessConnector> { QueueBound(self, to: environment.core) }

    /// - Parameter executable: the path of a process's executable, if it can be read.
    init(
        _ environment: SourceEnvironment, buffer: Int = usualBuffer,
        executable: @escaping @Sendable (Int32) -> [UInt8]? = { Linux.executable(of: $0) }
    ) {
        self.environment = environment
        self.buffer = buffer
        self.executable = executable
    }

    func add(_ id: SourceID, _ match: ProcessMatch) {
        listeners[id] = Listener(patterns: ExecutablePattern.following(match.pattern), events: match.events)
        if socket.number == nil { return open() }
        if isAcknowledged { scan() }
    }

    func remove(_ id: SourceID) {
        listeners[id] = nil
        armed.remove(id)
        warned[id] = nil
        for (process, entry) in known where entry.listeners.contains(id) {
            known[process]?.listeners.removeAll { $0 == id }
            if known[process]?.listeners.isEmpty == true { known[process] = nil }
        }
        if listeners.isEmpty { close() }
    }

    // MARK: The subscription

    private func open() {
        close()
        guard !listeners.isEmpty else { return }
        do throws(SystemError) {
            let descriptor = try Linux.processConnector(buffer: buffer)
            let number = descriptor.rawValue
            socket = consume descriptor
            numbers = ProcessReportNumbers()
            token = try environment.epoll.add(number, .readable) { [weak self] _ in self?.turn(number) }
        } catch {
            return failed(Self.explain(error))
        }
        attempts += 1
        environment.core.after(Self.patience) { [bound, attempts] in bound.value.mustBeAcknowledged(attempts) }
    }

    private func close() {
        retry.cancel()
        if let token { environment.epoll.remove(token) }
        token = nil
        socket.take()?.close()
        (isAcknowledged, isBehind) = (false, false)
        known = [:]
        armed = []
    }

    private static func explain(_ error: SystemError) -> String {
        switch error.errno {
        case .notPermitted, .accessDenied:
            "Match= needs the kernel's process connector, which is for root (CAP_NET_ADMIN): \(error)"
        case .protocolNotSupported:
            "Match= needs the kernel's process connector, and this kernel has none (CONFIG_PROC_EVENTS): \(error)"
        case .connectionRefused:
            "Match= needs the kernel's process connector, which only the initial network namespace has: \(error)"
        default: "the kernel's process connector: \(error)"
        }
    }

    private func failed(_ reason: String) {
        close()
        retry.schedule(on: environment.core) { [weak self] in self?.open() }
        for id in listeners.keys {
            environment.send(.source(id, retry.condition(reason)))
        }
    }

    private func mustBeAcknowledged(_ attempt: Int) {
        guard attempt == attempts, socket.number != nil, !isAcknowledged else { return }
        failed(
            "Match= needs the kernel's process connector, which does not answer: a container, or a kernel without "
                + "CONFIG_PROC_EVENTS")
    }

    private func acknowledged(_ errno: Errno?) {
        // Others that subscribe cause an answer to everybody.
        guard !isAcknowledged else { return }
        if let errno { return failed(Self.explain(SystemError(call: "PROC_CN_MCAST_LISTEN", errno: errno))) }
        isAcknowledged = true
        retry.reset()
        scan()
    }

    // MARK: Reports

    private func turn(_ number: Int32) {
        for _ in 0..<Self.eventsPerTurn {
            do throws(SystemError) {
                guard socket.number == number, let report = try Linux.processReport(number, &numbers) else {
                    // Of what was of no interest too.
                    return lookAtNumbers()
                }
                lookAtNumbers()
                take(report)
            } catch  where error.errno == .noBufferSpace {
                gap()
                dropped()
            } catch {
                return failed(Self.explain(error))
            }
        }
    }

    /// A drop that the kernel has told of shows in the numbers too, and is looked at already.
    private func lookAtNumbers() {
        guard numbers.takeGap() else { return }
        if !isBehind { gap() }
        dropped()
    }

    private func take(_ report: ProcessReport) {
        switch report {
        case .acknowledged(let errno): acknowledged(errno)
        case .forked(let process, let parent): forked(process, parent)
        case .executed(let process, let at): executed(process, at)
        case .dumpedCore(let process): known[process]?.dumpsCore = true
        case .ended(let process, let status):
            if isScanning, known[process] == nil { endedSinceScan[process] = Exit(status) }
            // The list may still have it.
            if isScanning, known[process] != nil { movedSinceScan[process] = .max }
            ended(process, Exit(status))
        }
    }

    private func forked(_ process: Int32, _ parent: Int32) {
        guard var entry = known[parent] else { return }
        (entry.started, entry.read, entry.dumpsCore) = (Linux.now(.boottime), nil, false)
        remember(process, entry)
        tell(process, .fork)
    }

    private func executed(_ process: Int32, _ at: Int64) {
        if known[process]?.tells(executionAt: at) == true { return tell(process, .exec) }
        if isScanning { movedSinceScan[process] = at }
        known[process] = nil
        let read = Linux.now(.monotonic)
        guard let executable = executable(process) else {
            // Of a thread of the kernel nobody knows anything either, but those execute nothing.
            return unseen(process)
        }
        let wanted = wanted(executable)
        if wanted.isEmpty { return }
        let started = Linux.place(of: process)?.started
        remember(process, Known(executable: executable, listeners: wanted, started: started, read: read))
        tell(process, .exec)
    }

    private func ended(_ process: Int32, _ exit: Exit?) {
        guard let entry = known[process] else { return }
        let runTime = entry.started.map { max(0, Linux.now(.boottime) - $0) }
        if entry.dumpsCore { tell(process, .coredump, exit, runTime: runTime) }
        tell(process, .exit, exit, runTime: runTime)
        known[process] = nil
    }

    private func tell(_ process: Int32, _ event: ProcessEvent, _ exit: Exit? = nil, runTime: Int64? = nil) {
        guard let entry = known[process] else { return }
        let fact = ProcessFact(event, pid: process, exit: exit, runTime: runTime, executable: entry.executable)
        for id in entry.listeners where listeners[id]?.events.contains(event) == true {
            environment.send(.event(id, .process(fact)))
        }
    }

    private func wanted(_ executable: [UInt8]) -> [SourceID] {
        listeners.filter { $0.value.patterns.contains { $0.matches(executable) } }.map(\.key)
    }

    private func remember(_ process: Int32, _ entry: Known) {
        guard known.count < Self.knownLimit || known[process] != nil else { return gap() }
        known[process] = entry
    }

    // MARK: Missing reports

    private func gap() {
        missing += 1
        guard missing == 1 else { return }
        environment.core.after(Self.gapSpan) { [bound] in bound.value.tellGap() }
    }

    private func tellGap() {
        for id in listeners.keys { environment.send(.gap(id, missing)) }
        missing = 0
    }

    /// It is not known what a process has executed. The first one is worth a line, those that follow are counted.
    private func unseen(_ process: Int32) {
        gap()
        let isThere = Linux.place(of: process).map { !$0.isZombie } ?? false
        let why: Blindness = isThere && Linux.effectiveUserID != 0 ? .notAllowed : .ended
        for id in listeners.keys where armed.contains(id) && warned[id, default: []].insert(why).inserted {
            let sentence = "\(why.rawValue); such processes are counted as lost"
            environment.warn(id, sentence)
            if why == .notAllowed { environment.limited(id, SourceLimit(sentence)) }
        }
    }

    /// More may be dropped in a moment, so what there is now is looked at only a little later.
    private func dropped() {
        if isScanning { mustScanAgain = true }
        guard !isBehind else { return }
        isBehind = true
        armed = []
        for id in listeners.keys {
            let reason = "the kernel has dropped reports of processes, too many came at once; looking at all that run"
            environment.send(.source(id, .failed(reason)))
        }
        if !isScanning { scanLater() }
    }

    private func scanLater() {
        environment.core.after(Self.gapSpan) { [bound] in
            if bound.value.isAcknowledged { bound.value.scan() }
        }
    }

    // MARK: Those that run already

    /// Lists all processes, beside the core.
    private func scan() {
        guard !isScanning else {
            mustScanAgain = true
            return
        }
        isScanning = true
        (movedSinceScan, endedSinceScan) = ([:], [:])
        environment.slow.submit("the list of processes") { [bound, executable, core = environment.core] in
            do throws(SystemError) {
                let found = try Self.all(executable)
                core.async { bound.value.scanned(found) }
            } catch {
                core.async { bound.value.scanFailed(error) }
            }
        }
    }

    /// Of what runs already nobody knows anything: all begins anew.
    private func scanFailed(_ error: SystemError) {
        isScanning = false
        (movedSinceScan, endedSinceScan, mustScanAgain) = ([:], [:], false)
        if isAcknowledged { failed("the processes that run cannot be listed: \(error)") }
    }

    private struct Found: Sendable {
        var executable: [UInt8]
        var started: Int64?
        var read: Int64
    }

    private static func all(_ executable: (Int32) -> [UInt8]?) throws(SystemError) -> [Int32: Found] {
        var found: [Int32: Found] = [:]
        for entry in try Linux.readFolder("/proc") {
            guard let process = Int32(String(decoding: entry.name, as: UTF8.self)) else { continue }
            let read = Linux.now(.monotonic)
            guard let executable = executable(process) else { continue }
            found[process] = Found(
                executable: executable, started: Linux.place(of: process)?.started, read: read)
        }
        return found
    }

    private func scanned(_ found: [Int32: Found]) {
        isScanning = false
        guard isAcknowledged else { return }
        // Their end was dropped, or the number is by now another process's.
        let gone = known.filter { process, entry in
            movedSinceScan[process] == nil && !Self.isThere(process, entry, found[process])
        }
        for process in gone.keys { ended(process, nil) }
        for (process, one) in found where one.read > movedSinceScan[process] ?? .min {
            let wanted = wanted(one.executable)
            guard !wanted.isEmpty else { continue }
            // A known process stays known by the name that it was executed by: the file may have been renamed.
            var entry = known[process] ?? Known(executable: one.executable, listeners: [], started: nil, read: one.read)
            entry.listeners += wanted.filter { !entry.listeners.contains($0) }
            entry.started = one.started
            remember(process, entry)
            if let exit = endedSinceScan[process] { ended(process, exit) }
        }
        (movedSinceScan, endedSinceScan) = ([:], [:])
        if mustScanAgain {
            mustScanAgain = false
            return isBehind ? scanLater() : scan()
        }
        // Only now everything is known of them.
        isBehind = false
        for id in listeners.keys where armed.insert(id).inserted { environment.send(.source(id, .armed)) }
    }

    /// Its executable says nothing: the file may be renamed or replaced while it runs.
    private static func isThere(_ process: Int32, _ entry: Known, _ found: Found?) -> Bool {
        if let found, entry.isSame(found.started) { return true }
        guard let place = Linux.place(of: process), !place.isZombie else { return false }
        return entry.isSame(place.started)
    }
}
