import Engine
import WatchFile

/// The sources that READY waits for: each has to be tried once, and those with `Required=yes` have to be armed.
struct Readiness {
    private(set) var isReached = false
    /// Whether it has to be armed.
    private var untried: [SourceID: Bool] = [:]

    /// Waits for a source, as far as it needs anything; one that a reload adds before READY too.
    mutating func wait(for source: SourceDefinition) {
        guard !isReached else { return }
        switch source.trigger {
        case .timer, .custom, .group: break
        case .process(.command) where !source.isRequired: break
        case .signal, .path, .descriptor, .process, .unit: untried[source.id] = source.isRequired
        }
    }

    mutating func take(_ condition: SourceCondition, of id: SourceID) {
        if untried[id] == false || condition == .armed { untried[id] = nil }
    }

    mutating func forget(_ id: SourceID) { untried[id] = nil }

    /// True once: when nothing is waited for any more.
    mutating func reach() -> Bool {
        guard !isReached, untried.isEmpty else { return false }
        isReached = true
        return true
    }

    /// It only has to be tried, and was not.
    func isUntried(_ id: SourceID) -> Bool { untried[id] == false }

    /// Whether READY waits until it is armed.
    func isAwaited(_ id: SourceID) -> Bool { !isReached && untried[id] == true }

    var text: String {
        let required = untried.filter(\.value).keys.map(\.description).sorted()
        let names = required.isEmpty ? untried.keys.map(\.description).sorted() : required
        let more = names.count > 3 ? " and \(names.count - 3) more" : ""
        let state = required.isEmpty ? "to be tried" : "to be armed (Required=yes)"
        return "starting, waiting for \(names.prefix(3).joined(separator: ", "))\(more) \(state)"
    }
}
