import Engine
import WatchFile

/// `[Process]` with `Match=`: its part of the shared connector.
final class MatchSource: EventSource {
    private let id: SourceID
    private let match: ProcessMatch
    private let connector: ProcessConnector

    init(_ id: SourceID, _ match: ProcessMatch, _ connector: ProcessConnector) {
        self.id = id
        self.match = match
        self.connector = connector
    }

    func open() { connector.add(id, match) }
    func close() { connector.remove(id) }

    /// Each event of a process is one fact, so there is nothing to hold back.
    func hold() {}
    func release() {}
}
