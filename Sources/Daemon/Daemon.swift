import ConfigurationFiles
import Dispatch
import EventSources
import Handlers
import LinuxSystem
package import Schedule
import Store
import Synchronization
import Systemd
import TimeZoneFiles
package import WatchFile

/// The daemon as a whole: configuration, contexts, and the main thread, which waits for events.
///
///     main thread      parses, blocks signals, starts the contexts, then waits for the core's descriptors (`Reactor`)
///     watchd.events    does the same
///     watchd.core      the engine and every event source (`Runtime`)
///     watchd.lane.N    spawning
///     watchd.slow.N    looking at paths that may hang, listing folders, reading watch files
///     watchd.control   clients (`ControlServer`)
///     watchd.store     the store (`StoreWriter`); watchd.history reads it
///     watchd.log       the journal or the terminal
///     watchd.notify    the service manager (`ServiceManager`)
package struct Daemon {
    /// The options of the command line.
    package struct Options: Sendable {
        /// Watch files and folders; none: the default place.
        package var arguments: [String]
        /// Nothing else runs in the place of watch files with errors.
        package var isStrict: Bool

        package init(arguments: [String], isStrict: Bool = false) {
            self.arguments = arguments
            self.isStrict = isStrict
        }
    }

    /// The configuration in the watch files, or why they cannot be used.
    ///
    /// - Parameters:
    ///   - localZone: the local zone while it cannot be read.
    ///   - lookUp: of what the files name and the machine may not have, which may block.
    package static func load(
        _ options: Options, localZone: TimeZoneRules = .utc, lookUp: LookUp = .nothing
    ) -> (result: LoadResult, texts: [WatchFileText]) {
        let (texts, diagnostics) = ConfigurationFiles.read(arguments: options.arguments)
        return (load(texts, diagnostics, localZone: localZone, lookUp: lookUp), texts)
    }

    /// Questions about the machine that reading watch files asks.
    package enum LookUp {
        case nothing
        /// Users and groups that commands are to run as: there being none is an error.
        case accounts
        /// All of it, with the same errors.
        case everything
        /// All of it, to warn: the files are in force.
        case warnings
    }

    /// - Parameter diagnostics: of those who have read the texts.
    static func load(
        _ texts: [WatchFileText], _ diagnostics: [Diagnostic] = [], localZone: TimeZoneRules = .utc,
        lookUp: LookUp = .nothing
    ) -> LoadResult {
        let zones = TimeZoneDatabase()
        var context = LoadContext(
            processors: Linux.processorCount, localZone: zones.local(else: localZone), now: Linux.now(.realtime)
        ) {
            try? zones.rules(named: $0)
        }
        switch lookUp {
        case .nothing: break
        case .accounts: context.lookUpOwners()
        case .everything: context.lookAround()
        case .warnings:
            context.lookAround()
            context.refusesUnknownAccounts = false
            // Its source says so.
            context.isMissing = nil
        }
        var result = WatchFile.load(texts, context: context)
        result.diagnostics = diagnostics + result.diagnostics
        if diagnostics.contains(where: { $0.severity == .error }) { result.configuration = nil }
        return result
    }

    /// Whether `run` failed for a reason that only people can mend.
    package static func isForPeople(_ error: any Error) -> Bool {
        switch error as? StoreError {
        case .newer, .notAFile, .notAFolder, .foreign, .writable, .linked: true
        default: false
        }
    }

    /// Microseconds after which what may take long has another lane beside it.
    private static let slowPatience: Int64 = 500_000

    private let options: Options
    private let configuration: Configuration
    private let beginning: Beginning

    /// - Parameter configuration: of the beginning.
    package init(_ options: Options, _ configuration: Configuration, _ beginning: Beginning) {
        self.options = options
        self.configuration = configuration
        self.beginning = beginning
    }

    /// Runs until it is told to stop. To be called on the main thread, before any other thread exists.
    ///
    /// - Throws: when it cannot start at all: no control socket, no epoll set, no threads.
    package func run() throws {
        silenceDispatch()
        // Before the first other thread, which inherits the mask: signalfd gets only what every thread blocks.
        Linux.takeOverSignals(blocking: .managed)
        Linux.ignoreSignal(13)
        try checkThreads()
        // Else each of Dispatch's threads has one of its own, which keeps what a burst needed.
        Linux.limitArenas(2)
        // A limit is a delay: with fewer descriptors some sources would only be watched later.
        try? Linux.raiseOpenFileLimit()
        try checkDescriptors()
        let passed = try ListenSockets.take()
        let kept = KeptDescriptors(passed)
        let listener = try ControlListener(settings: configuration.settings, passed: kept.others)
        let nice = Linux.nice
        let containment = Self.isService ? Containment.begin() : Containment(reason: "watchd is no service")
        let logger = Logger(level: configuration.settings.logLevel)
        beginning.log(logger)
        let (core, reactor) = try Context.withReactor("watchd.core")
        armDispatchTimers(core)

        let parts = Parts(
            options: options, configuration: configuration, beginning: beginning, socket: listener.path, logger: logger,
            nice: nice, containment: containment, kept: kept)
        let failure = Mutex<(any Error)?>(nil)
        core.async {
            let slow = Lanes(core: core, name: "watchd.slow", count: 4, replacement: Self.slowPatience)
            let probes = PathProbes(core: core, lanes: slow)
            probes.ask(parts.configuration.sources.flatMap(\.trigger.paths)) {
                do {
                    let runtime = try Runtime(parts, core: core, slow: slow, probes: probes) { reactor.stop() }
                    runtime.start(serving: listener)
                } catch {
                    failure.withLock { $0 = error }
                    reactor.stop()
                }
            }
        }
        let hasMainEnded = DispatchSemaphore(value: 0)
        try Linux.startThread {
            try? reactor.run(paysThreads: true)
            // It hangs in the start of a process; or it does the work of a thread of Dispatch for some seconds more, and
            // has to say then why watchd cannot be started.
            let patience = failure.withLock { $0 == nil } ? 1 : 10
            guard hasMainEnded.wait(timeout: .now() + .seconds(patience)) == .timedOut else { return }
            logger.flush(seconds: 5)
            listener.removeSocketFile()
            Linux.exit(0)
        }
        // Not dispatchMain(), which would unblock every signal (Dispatch.md, fact 15).
        try reactor.run(paysThreads: true)
        hasMainEnded.signal()
        logger.flush(seconds: 5)
        listener.removeSocketFile()
        if let error = failure.withLock({ $0 }) { throw error }
    }

    /// Threads that watchd may have at once while nothing hangs: those above, Dispatch's own, and two to spare.
    private static let threads = 17

    /// Why it cannot be started.
    private struct Refusal: Error, CustomStringConvertible { var description: String }

    /// Without a thread for it, Dispatch would wait for one in silence, and watchd with it (Dispatch.md, fact 28).
    private func checkThreads() throws {
        let had = Linux.threadsToBeHad(of: Self.threads)
        guard had < Self.threads else { return }
        throw Refusal(
            description: """
                only \(had) of the \(Self.threads) threads that watchd needs can be made; raise LimitNPROC= (ulimit -u), \
                which counts all that user \(Linux.userID) runs, or TasksMax=
                """)
    }

    /// Its own descriptors, one client and one run.
    private static let leastDescriptors: UInt64 = 40

    /// With fewer it would come up without a control socket, or wait for ever to start a handler.
    private func checkDescriptors() throws {
        guard let limit = try? Linux.openFileLimit().soft, limit < Self.leastDescriptors else { return }
        throw Refusal(
            description: """
                only \(limit) descriptors are allowed, and watchd needs at least \(Self.leastDescriptors); raise \
                LimitNOFILE= (ulimit -n)
                """)
    }

    /// Without CAP_SYS_NICE, Dispatch would tell the system's log that the nice value of its threads cannot be lowered
    /// (Dispatch.md, fact 17), which watchd does not need. Handlers get an environment of their own.
    private func silenceDispatch() { Linux.setEnvironment("LIBDISPATCH_LOG", "NO") }

    /// Dispatch makes its timer descriptors when the first timer of a clock is armed, and without a free descriptor
    /// then its timers would never fire (Dispatch.md, fact 27).
    private func armDispatchTimers(_ context: Context) {
        context.queue.asyncAfter(deadline: .now() + .seconds(3_000_000_000)) {}
        context.queue.asyncAfter(wallDeadline: .now() + .seconds(3_000_000_000)) {}
    }

    /// The parts that the runtime is made from.
    struct Parts: Sendable {
        var options: Options
        var configuration: Configuration
        var beginning: Beginning
        /// Of the control socket.
        var socket: [UInt8]
        var logger: Logger
        var nice: Int32
        var containment: Containment
        /// Of an earlier watchd.
        var kept: KeptDescriptors
    }
}
