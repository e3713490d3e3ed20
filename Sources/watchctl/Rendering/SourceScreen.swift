import ControlInterface

/// `watchctl status NAME`: everything that is known of one source.
struct SourceScreen {
    let source: ListSources.Source
    let screen: Screen

    var lines: [Styled] {
        var table = Table([.init(title: ""), .init(title: "", isFlexible: true, isWrapped: true)])
        for (title, text) in facts { table.add([Styled(title, .dim), Styled(text)]) }
        return screen.spread(Styled(source.name, .bold), Lists(screen: screen).state(of: source))
            + table.lines(width: screen.width, indent: 2, titled: false)
    }

    private var facts: [(String, String)] {
        var facts: [(String, String)] = []
        func add(_ title: String, _ text: String?) { if let text, !text.isEmpty { facts.append((title, text)) } }
        add("about", source.description)
        add("watches", source.detail)
        add("because", source.reason)
        add("next try", source.nextTry.map { screen.ahead($0) })
        for suspension in source.suspendedBy { add("paused", Phrases.suspension(suspension, screen)) }
        add("required", source.required ? "yes: READY waits for it" : nil)
        add("starts", source.handlers.joined(separator: " "))
        let processes = source.processes ?? []
        for process in processes {
            add(processes.count > 1 ? "copy \(process.copy)" : "process", ProcessText.standing(process, screen))
        }
        add("last event", source.lastEvent.map { screen.full($0) } ?? "none yet")
        let never = source.neverElapses == true ? "never" : nil
        add("next event", source.nextElapse.map { "\(screen.planned($0)), \(screen.ahead($0))" } ?? never)
        add("events", StatusScreen.totals(source.counters))
        add("costs", costs)
        return facts
    }

    private var costs: String {
        let watches = "\(Phrases.count(source.watches)) inotify watch\(source.watches == 1 ? "" : "es")"
        return [watches, source.descriptors.map { Phrases.count($0, "descriptor") }].compactMap { $0 }
            .joined(separator: ", ")
    }
}
