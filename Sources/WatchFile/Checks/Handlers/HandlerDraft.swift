/// A handler while it is checked.
struct HandlerDraft {
    /// A handler that this one starts.
    struct Reference {
        var key: String
        var name: Value.Name
        var isDefault: Bool

        /// Tells it from the others of its handler.
        var place: SourceLocation { name.text.location }
    }

    let name: String
    /// Of its section, or of the source that carries its action.
    let header: SourceText
    let title: String
    let entries: Entries
    /// Of `OnSuccess=` and the other completions.
    var completions: [Reference]
    /// Of `After=` and `Requires=`.
    let dependencies: [Reference]
    /// Of `After=process/NAME`.
    let processes: [Reference]
    /// Keys that the `Command=` of its source has too.
    var sharedKeys: Set<String> = []
    /// `nil` when it could not be read; it has been told about.
    var action: HandlerAction?
    var commands: [CommandText] = []
    /// `ExecCondition=`.
    var conditions: [CommandText] = []
    /// Of `Log=` and of the data of `Emit=`.
    var templates: [TemplateText] = []
    var emission: Value.Emission?
    /// Those of the action and its conditions; more than anybody writes are not looked at again for each source.
    var specifiers: [TemplateText.Located] = []
    /// A source hands it a descriptor, and it does not say what else it reads.
    var isHandedOver = false
    /// `Queue=`, an alias resolved.
    var queue: String?

    private static let completionKeys = [
        "OnSuccess", "OnFailure", "OnRetry", "OnChange", "OnFinished", "OnLate", "OnSlow",
    ]
    private static let dependencyKeys = ["After", "Requires"]
    static let referenceKeys = completionKeys + dependencyKeys
    static let maximumSpecifiers = 200
    static let processPrefix = "process/"

    init(name: String, header: SourceText, title: String, entries: Entries) {
        self.name = name
        self.header = header
        self.title = title
        self.entries = entries
        func references(_ keys: [String]) -> [Reference] {
            keys.flatMap { key in
                entries.names(key).map { Reference(key: key, name: $0, isDefault: $1.isDefault) }
            }
        }
        completions = references(Self.completionKeys)
        let all = references(Self.dependencyKeys)
        dependencies = all.filter { !$0.name.string.hasPrefix(Self.processPrefix) }
        processes = all.filter { $0.name.string.hasPrefix(Self.processPrefix) }
    }

    var isLog: Bool { if case .log? = action { true } else { false } }

    var overlap: Overlap? { entries["Overlap"]?.word.flatMap(Overlap.init) }

    var required: [Reference] { dependencies.filter { $0.key == "Requires" } }

    var definition: HandlerDefinition? {
        guard let action else { return nil }
        var result = HandlerDefinition(name: name, action: action, queue: queue)
        result.overlap = overlap
        result.constraints = constraints
        result.conditions.commands = conditions.map(\.command)
        result.conditions.paths = entries.list("ConditionPathExists").compactMap { $0.value?.pathCondition }
        result.stride = entries["Stride"]?.number
        result.retry = retry
        result.timeout = entries["TimeoutSec"]?.span ?? result.timeout
        result.timeoutStop = entries["TimeoutStopSec"]?.span ?? result.timeoutStop
        result.killSignal = entries["KillSignal"]?.signals.first?.number ?? result.killSignal
        result.killMode = entries["KillMode"]?.word.flatMap(KillMode.init) ?? result.killMode
        result.onStop = entries["OnStop"]?.word.flatMap(StopPolicy.init)
        result.successExitStatus = exitStatuses("SuccessExitStatus")
        result.workingDirectory = entries["WorkingDirectory"]?.path.flatMap { $0 == ValueReader.home ? nil : $0 }
        result.environment = entries.list("Environment").flatMap { $0.value?.environment ?? [] }
        let usualInput = isHandedOver ? .socket : result.standardInput
        result.standardInput = entries["StandardInput"]?.word.flatMap(StandardInput.init) ?? usualInput
        let usualOutput = result.standardInput == .socket ? .socket : result.standardOutput
        result.standardOutput = entries["StandardOutput"]?.output ?? usualOutput
        result.standardError = entries["StandardError"]?.output ?? result.standardError
        result.completions.success = names("OnSuccess", of: completions)
        result.completions.failure = names("OnFailure", of: completions)
        result.completions.retry = names("OnRetry", of: completions)
        result.completions.change = names("OnChange", of: completions)
        result.completions.finished = names("OnFinished", of: completions)
        result.completions.late = names("OnLate", of: completions)
        result.completions.slow = names("OnSlow", of: completions)
        result.patience = patience
        result.windows = entries.windows
        result.contract = contract
        if case .exec = action {
            result.tellsProgress = entries["Progress"]?.flag ?? false
            result.placement = placement
        }
        if result.placement != nil { result.onStop = result.onStop ?? .leave }
        if isStream { result.dropForeignToStreams() }
        return result
    }

    var runsInUnit: Bool { entries["RunIn"]?.word == "unit" }

    private var placement: UnitPlacement? {
        runsInUnit ? UnitPlacement(properties: entries.unitKeys.compactMap { $0.value?.unitProperty }) : nil
    }

    func names(_ key: String, of references: [Reference]) -> [String] {
        references.filter { $0.key == key }.map(\.name.string).withoutRepeats
    }

    func exitStatuses(_ key: String) -> ExitStatusSet {
        entries.list(key).compactMap { $0.value?.exitStatuses }.reduce(into: ExitStatusSet()) { result, set in
            result.codes.formUnion(set.codes)
            result.signals.formUnion(set.signals)
        }
    }
}

extension Array where Element: Hashable {
    /// The first of each.
    var withoutRepeats: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
