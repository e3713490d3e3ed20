package import Schedule

/// Everything the watch files say, checked: every reference resolves, every value is in range.
///
/// Two configurations are equal when they mean the same; where a section stands in its file is kept beside it in
/// `locations` and does not count, so that a reload sees what really changed.
package struct Configuration: Sendable {
    package var settings: DaemonSettings
    /// The built-in queues first, then those of the files, in the order of the files.
    package var queues: [QueueDefinition]
    package var semaphores: [SemaphoreDefinition]
    /// In the order of the files; a source's own action is a handler of the source's name.
    package var handlers: [HandlerDefinition]
    package var sharedSources: [Shared<SourceDefinition>]
    /// Where each section begins, by its full name (`path/uploads`, `queue/images`, `handler/tell`).
    package var locations: [String: SourceLocation]
    /// The local zone and every zone that an expression names.
    package var zones: ZoneTable

    package init(
        settings: DaemonSettings, queues: [QueueDefinition] = [], semaphores: [SemaphoreDefinition] = [],
        handlers: [HandlerDefinition] = [], sources: [SourceDefinition] = [],
        locations: [String: SourceLocation] = [:], zones: ZoneTable = ZoneTable()
    ) {
        self.settings = settings
        self.queues = queues
        self.semaphores = semaphores
        self.handlers = handlers
        sharedSources = sources.map(Shared.init)
        self.locations = locations
        self.zones = zones
    }

    /// A copy of `sharedSources`.
    package var sources: [SourceDefinition] {
        get { sharedSources.map(\.value) }
        set { sharedSources = newValue.map(Shared.init) }
    }
}

/// `[Watchd]`: what concerns the daemon as a whole.
package struct DaemonSettings: Equatable, Sendable {
    /// `ControlSocket=`; `nil`: the default place.
    package var controlSocket: [UInt8]?
    /// `LogLevel=`.
    package var logLevel: LogLevel
    /// `MaxProcesses=`: handler processes at once, over all queues. At least 1.
    package var maxProcesses: Int
    /// `MaxOperations=`: entries pending in memory, over all queues. At least 1.
    package var maxOperations: Int
    /// `MaxMemory=`: bytes of them. At least 1.
    package var maxMemory: Int
    /// `MaxWatches=`.
    package var maxWatches = WatchLimit.share(80)
    /// `DrainSec=`: how long a stop waits for running handlers.
    package var drain: TimeSpan
    /// `StateDirectory=`: where the store is; `nil`: the default place.
    package var stateDirectory: [UInt8]?
    /// `KeepHistory=`: run records kept.
    package var keepHistory: Int
    /// `KeepHistorySec=`: how long they are kept.
    package var keepHistorySpan: TimeSpan
    /// `KeepHistoryBytes=`: bytes that they take up in the store.
    package var keepHistoryBytes: Int
    /// `Sync=`.
    package var sync: Sync
    /// `OnProblem=`, `OnSolved=`: names of handlers.
    package var onProblem: [String] = []
    package var onSolved: [String] = []

    package init(
        controlSocket: [UInt8]? = nil, logLevel: LogLevel = .info, maxProcesses: Int = 16, maxOperations: Int = 100_000,
        maxMemory: Int = 256 << 20, drain: TimeSpan = .seconds(60), stateDirectory: [UInt8]? = nil,
        keepHistory: Int = 10_000, keepHistorySpan: TimeSpan = .seconds(30 * 24 * 3600),
        keepHistoryBytes: Int = 256 << 20, sync: Sync = .full
    ) {
        self.controlSocket = controlSocket
        self.stateDirectory = stateDirectory
        self.keepHistory = keepHistory
        self.keepHistorySpan = keepHistorySpan
        self.keepHistoryBytes = keepHistoryBytes
        self.sync = sync
        self.logLevel = logLevel
        self.maxProcesses = maxProcesses
        self.maxOperations = maxOperations
        self.maxMemory = maxMemory
        self.drain = drain
    }
}

/// `Sync=`: what an operation that a durable queue has accepted survives.
package enum Sync: String, CaseIterable, Sendable {
    /// Loss of power.
    case full
    /// A crash of watchd, not of the machine.
    case normal
}

/// The levels of `syslog(3)`, most urgent first.
package enum LogLevel: Int, Comparable, CaseIterable, Sendable {
    case emerg, alert, crit, err, warning, notice, info, debug

    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}

/// Where something stands in a watch file; lines and columns count from 1, columns in bytes.
package struct SourceLocation: Hashable, Sendable {
    package var file: String
    package var line: Int
    package var column: Int

    package init(file: String, line: Int, column: Int = 1) {
        self.file = file
        self.line = line
        self.column = column
    }
}
