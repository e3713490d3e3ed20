/// A source while it is checked.
struct SourceDraft {
    let id: SourceID
    let header: SourceText
    let title: String
    let entries: Entries
    /// It carries an action: a handler of its own name.
    let hasOwnHandler: Bool
    /// `nil` when it could not be read; it has been told about.
    var trigger: Trigger?
    /// Its own handler first, then those of `Handler=`.
    var routes: [Route] = []

    var handlerNames: [Value.Name] { entries.names("Handler").map(\.name) }

    var key: Value.KeyText {
        entries["Key"]?.key ?? (id.kind == .descriptor ? .none : .handler)
    }

    var hasNoKey: Bool { if case .none = key { true } else { false } }

    var coalesces: Bool { entries["Coalesce"]?.flag ?? (id.kind != .descriptor) }

    var keySpecifiers: [TemplateText.Located] {
        if case .template(let text) = key { text.specifiers } else { [] }
    }

    var definition: SourceDefinition? {
        guard let trigger else { return nil }
        let rule: KeyRule =
            switch key {
            case .handler: .handler
            case .none: .none
            case .template(let text): .template(text.template)
            }
        var definition = SourceDefinition(
            id: id, summary: entries["Description"]?.text, routes: routes, key: rule, coalesces: coalesces,
            rateLimit: entries["RateLimit"]?.rate, isSuspended: entries["Suspended"]?.flag ?? false,
            isRequired: entries["Required"]?.flag ?? false,
            silence: silence, trigger: trigger)
        definition.windows = entries.windows
        return definition
    }
}
