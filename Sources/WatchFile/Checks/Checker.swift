import Schedule

/// Builds the configuration from sections, and refuses what makes no sense together.
///
/// It goes on after an error with what can be understood, so that one mistake is told once and hides no other. Names
/// of sections that are refused count as known.
struct Checker {
    let sections: [Section]
    let defaults: [SectionKind: Section]
    let context: LoadContext
    var problems: Problems

    var settings: DaemonSettings
    var queues: [QueueDefinition] = []
    var queueNames: Set<String> = []
    /// Those whose `Type=` could not be read.
    var queuesOfUnknownType: Set<String> = []
    /// `Target=` of each queue that has one, by its index in `queues`.
    var targets: [Int: Entry] = [:]
    var semaphores: [SemaphoreDefinition] = []
    /// Also of those whose `Value=` could not be read.
    var semaphoreNames: Set<String> = []
    var handlers: [HandlerDraft] = []
    var sources: [SourceDraft] = []
    /// Index in `handlers` by name.
    var handlerIndices: [String: Int] = [:]
    /// Index in `sources` of each `[Custom]`, by name.
    var customIndices: [String: Int] = [:]

    init(_ merged: SectionMerger, context: LoadContext, problems: Problems) {
        sections = merged.sections
        defaults = merged.defaults
        self.context = context
        self.problems = problems
        settings = DaemonSettings(maxProcesses: context.maxProcesses)
    }

    /// Meaningless when `problems` has an error afterwards.
    mutating func check() -> Configuration {
        readSettings()
        readQueues()
        readSemaphores()
        readHandlersAndSources()
        checkReferences()
        connectRoutes()
        checkTargets()
        checkDependencies()
        leaveOutDefaultsThatGoRound()
        checkCycles()
        checkChains()
        checkSemaphores()
        checkProcessActions()
        checkOwners()
        checkOverlap()
        checkHandovers()
        checkUnitInput()
        checkStreams()
        checkPlacements()
        checkSilence()
        checkBatches()
        checkSettling()
        checkDirectoryModes()
        checkSystemdPaths()
        checkJoin()
        connectLevels()
        checkWindows()
        checkSpecifiers()
        checkScripts()
        checkAccounts()
        checkPrograms()
        checkServiceManager()
        checkSubfolders()
        checkMissingPaths()
        checkDefaultTriggers()
        if !problems.hasError { checkUnstarted() }
        return Configuration(
            settings: settings, queues: queues, semaphores: semaphores, handlers: handlers.compactMap(\.definition),
            sources: sources.compactMap(\.definition), locations: locations, zones: zones)
    }

    func defaultEntries(_ kind: SectionKind) -> [Entry] { defaults[kind]?.entries ?? [] }

    private mutating func readSettings() {
        guard let section = sections.first(where: { $0.kind == .watchd }) else { return }
        let entries = Entries(section.entries)
        settings.controlSocket = entries["ControlSocket"]?.path
        if let path = settings.controlSocket, path.count > PathValue.maximumSocketLength,
            let entry = entries.entry("ControlSocket")
        {
            problems.error(
                "the path of a socket has at most \(PathValue.maximumSocketLength) bytes", at: entry.text)
        }
        if let word = entries["LogLevel"]?.word, let level = LogLevel.allCases.first(where: { "\($0)" == word }) {
            settings.logLevel = level
        }
        settings.maxProcesses = entries["MaxProcesses"]?.number ?? settings.maxProcesses
        settings.maxOperations = entries["MaxOperations"]?.number ?? settings.maxOperations
        settings.maxMemory = entries["MaxMemory"]?.number ?? settings.maxMemory
        settings.maxWatches = entries["MaxWatches"]?.watches ?? settings.maxWatches
        settings.drain = entries["DrainSec"]?.span ?? settings.drain
        settings.stateDirectory = entries["StateDirectory"]?.path
        settings.keepHistory = entries["KeepHistory"]?.number ?? settings.keepHistory
        settings.keepHistorySpan = entries["KeepHistorySec"]?.span ?? settings.keepHistorySpan
        settings.keepHistoryBytes = entries["KeepHistoryBytes"]?.number ?? settings.keepHistoryBytes
        settings.sync = entries["Sync"]?.word.flatMap(Sync.init) ?? settings.sync
        settings.onProblem = entries.names("OnProblem").map(\.name.string).withoutRepeats
        settings.onSolved = entries.names("OnSolved").map(\.name.string).withoutRepeats
    }

    private var locations: [String: SourceLocation] {
        var result: [String: SourceLocation] = [:]
        for section in sections { result[section.fullName] = section.header.location }
        for handler in handlers { result["handler/\(handler.name)"] = handler.header.location }
        return result
    }
}
