import Engine
import EventSources
import WatchFile

/// The sources that READY waits for.
extension Runtime {
    /// One that a reload adds before READY too.
    func mustBeTried(_ source: SourceDefinition) {
        guard !hasStarted else { return }
        switch source.trigger {
        case .timer, .custom, .group: break
        case .process(.command) where !source.isRequired: break
        case .signal, .path, .descriptor, .process, .unit: untried[source.id] = source.isRequired
        }
    }

    /// The service manager would end a start that takes long: every second it is told whom it waits for. A source that
    /// has to be armed may come as late as it likes.
    func startMayTakeLong() {
        core.after(1_000_000) { [bound] in
            let runtime = bound.value
            guard !runtime.hasStarted, runtime.engine.phase == .running || runtime.isReloading else { return }
            runtime.tellOfHung()
            runtime.manager.starting(runtime.startText)
            runtime.startMayTakeLong()
        }
    }

    /// Sources that hang beside the core have been tried.
    private func tellOfHung() {
        for case let id? in slow.hung.map({ SourceID(description: $0) }) where untried[id] == false {
            handle(.source(id, .failed("what it needs does not answer (a hung file system?)")))
        }
    }

    private var startText: String {
        let required = untried.filter(\.value).keys.map(\.description).sorted()
        let names = required.isEmpty ? untried.keys.map(\.description).sorted() : required
        let more = names.count > 3 ? " and \(names.count - 3) more" : ""
        let state = required.isEmpty ? "to be tried" : "to be armed (Required=yes)"
        return "starting, waiting for \(names.prefix(3).joined(separator: ", "))\(more) \(state)"
    }

    /// Whether READY waits until it is armed.
    func isAwaited(_ id: SourceID) -> Bool { !hasStarted && untried[id] == true }
}
