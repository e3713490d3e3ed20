/// A handler while it is checked.
struct HandlerDraft {
    /// A handler that this one starts.
    struct Reference {
        var key: String
        var name: Value.Name
        var isDefault: Bool
    }

    let name: String
    /// Of its section, or of the source that carries its action.
    let header: SourceText
    let title: String
    let entries: Entries
    /// Of `OnSuccess=`, `OnFailure=`, `OnFinished=`.
    let completions: [Reference]
    /// `nil` when it could not be read; it has been told about.
    var action: HandlerAction?
    var commands: [CommandText] = []
    /// Of `Log=` and of the data of `Emit=`.
    var templates: [TemplateText] = []
    var emission: Value.Emission?
    /// Those of the action; more than anybody writes are not looked at again for each source.
    var specifiers: [TemplateText.Located] = []
    /// `Queue=`, an alias resolved.
    var queue: String?

    static let completionKeys = ["OnSuccess", "OnFailure", "OnFinished"]
    static let maximumSpecifiers = 200

    init(name: String, header: SourceText, title: String, entries: Entries) {
        self.name = name
        self.header = header
        self.title = title
        self.entries = entries
        completions = Self.completionKeys.flatMap { key in
            entries.names(key).map { Reference(key: key, name: $0, isDefault: $1.isDefault) }
        }
    }

    var definition: HandlerDefinition? {
        guard let action else { return nil }
        var result = HandlerDefinition(name: name, action: action, queue: queue)
        result.overlap = entries["Overlap"]?.word.flatMap(Overlap.init)
        result.timeout = entries["TimeoutSec"]?.span ?? result.timeout
        result.timeoutStop = entries["TimeoutStopSec"]?.span ?? result.timeoutStop
        result.killSignal = entries["KillSignal"]?.signals.first?.number ?? result.killSignal
        result.killMode = entries["KillMode"]?.word.flatMap(KillMode.init) ?? result.killMode
        for set in entries.list("SuccessExitStatus").compactMap({ $0.value?.exitStatuses }) {
            result.successExitStatus.codes.formUnion(set.codes)
            result.successExitStatus.signals.formUnion(set.signals)
        }
        result.workingDirectory = entries["WorkingDirectory"]?.path
        result.environment = entries.list("Environment").flatMap { $0.value?.environment ?? [] }
        result.standardInput = entries["StandardInput"]?.word.flatMap(StandardInput.init) ?? result.standardInput
        result.standardOutput = entries["StandardOutput"]?.output ?? result.standardOutput
        result.standardError = entries["StandardError"]?.output ?? result.standardError
        result.onSuccess = names("OnSuccess")
        result.onFailure = names("OnFailure")
        result.onFinished = names("OnFinished")
        return result
    }

    private func names(_ key: String) -> [String] {
        completions.filter { $0.key == key }.map(\.name.string).withoutRepeats
    }
}

extension Array where Element: Hashable {
    /// The first of each.
    var withoutRepeats: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
