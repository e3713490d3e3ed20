import ControlInterface

/// `watchctl status NAME`: everything that is known of one source.
struct SourceScreen {
    let source: ListSources.Source
    let screen: Screen
    /// Of a process with `Command=`: the end of what it has written.
    var output: [Styled] = []

    var lines: [Styled] {
        var facts = FactSheet(source.name, Lists(screen: screen).state(of: source), screen)
        facts.add("about", source.description)
        facts.addPlace(source.file, source.line)
        facts.add(subject, source.detail)
        facts.add("because", source.reason)
        facts.add("next try", source.nextTry.map { screen.ahead($0) })
        for suspension in source.suspendedBy { facts.add("paused", Phrases.suspension(suspension, screen)) }
        facts.add("required", source.required ? "yes: READY waits for it" : nil)
        facts.add("members", source.group.map(Self.members))
        facts.add("starts", source.handlers.joined(separator: " "))
        let processes = source.processes ?? []
        for process in processes {
            let title = processes.count > 1 ? "copy \(process.copy)" : "process"
            facts.add(title, ProcessText.standing(process, screen))
        }
        facts.add("process", source.pids.map { $0.map(String.init).joined(separator: " ") })
        facts.add("last event", source.lastEvent.map { screen.full($0) } ?? "none yet")
        let never = source.neverElapses == true ? "never" : nil
        facts.add("next event", source.nextElapse.map { "\(screen.planned($0)), \(screen.ahead($0))" } ?? never)
        facts.add("events", StatusScreen.totals(source.counters))
        facts.add("costs", costs)
        facts.add("output", all: output)
        return facts.lines
    }

    /// The title of `detail`.
    private var subject: String {
        switch source.kind {
        case "timer": "elapses"
        case "signal": "signals"
        case "custom", "group": "settings"
        case "process": source.processes == nil ? "watches" : "runs"
        default: "watches"
        }
    }

    private static func members(_ group: GroupState) -> String {
        let running = Phrases.count(group.outstanding, "operation") + " of them not ended"
        return group.entered == 0 ? running : running + ", \(Phrases.count(group.entered, "ticket")) not given back"
    }

    private var costs: String {
        let watches = "\(Phrases.count(source.watches)) inotify watch\(source.watches == 1 ? "" : "es")"
        return [watches, source.descriptors.map { Phrases.count($0, "descriptor") }].compactMap { $0 }
            .joined(separator: ", ")
    }
}
