import EventSources
import LinuxSystem
import Systemd

/// The lines that services of runs write to the journal, as they come: one reader for all of them, and none while there
/// is no such run. Confined to the core; the journal is read elsewhere.
final class ServiceOutputs {
    /// Microseconds for which lines gather before they are read together.
    private static let pause = 100_000
    private static let linesPerTurn = 1000

    private final class Reader {
        var tail: JournalTail?
    }

    private let core: Context
    private let epoll: EpollSet
    private let scope: Bus.Scope
    private let reader: QueueBound<Reader>
    private var takers: [String: ([[UInt8]]) -> Void] = [:]
    private var token: UInt64?
    /// Something has been written, and is about to be read.
    private var isReading = false
    /// Of openings: what is told of an earlier one does not count.
    private var generation = 0
    private var bound: QueueBound<ServiceOutputs> { QueueBound(self, to: core) }

    init(core: Context, epoll: EpollSet, scope: Bus.Scope) {
        (self.core, self.epoll, self.scope) = (core, epoll, scope)
        reader = QueueBound(Reader(), to: Context("watchd.journal"))
    }

    /// Gives the lines of a unit from now on. Where the journal cannot be read, none come.
    func follow(_ unit: String, _ take: @escaping ([[UInt8]]) -> Void) {
        takers[unit] = take
        update()
    }

    func unfollow(_ unit: String) {
        guard takers.removeValue(forKey: unit) != nil else { return }
        guard takers.isEmpty else { return update() }
        generation += 1
        if let token { epoll.remove(token) }
        (token, isReading) = (nil, false)
        reader.context.async { [reader] in reader.value.tail = nil }
    }

    private func update() {
        let (units, scope, generation) = (takers.keys.sorted(), scope, generation)
        // The unit is started behind this, and may write before the journal is open.
        let now = Linux.now(.realtime)
        reader.context.async { [reader, core, bound] in
            if reader.value.tail == nil { reader.value.tail = try? JournalTail(scope, since: now) }
            guard let tail = reader.value.tail else { return }
            tail.follow(units)
            let descriptor = tail.descriptor
            core.async { bound.value.opened(descriptor, generation) }
        }
    }

    private func opened(_ descriptor: Int32, _ generation: Int) {
        guard generation == self.generation, token == nil, descriptor >= 0 else { return }
        token = try? epoll.add(descriptor, .readable) { [weak self] _ in self?.written() }
        // What was written before is told by nobody.
        written()
    }

    /// Until it has been read, the descriptor says so again and again: it is not waited for meanwhile.
    private func written() {
        guard !isReading, let token else { return }
        isReading = true
        try? epoll.modify(token, [])
        core.after(Self.pause) { [bound, generation] in bound.value.read(generation) }
    }

    private func read(_ generation: Int) {
        guard generation == self.generation else { return }
        reader.context.async { [reader, core, bound] in
            let lines = reader.value.tail?.read(atMost: Self.linesPerTurn) ?? []
            core.async { bound.value.took(lines, generation) }
        }
    }

    private func took(_ lines: [JournalTail.Line], _ generation: Int) {
        guard generation == self.generation, let token else { return }
        isReading = false
        for (unit, lines) in Dictionary(grouping: lines, by: \.unit) { takers[unit]?(lines.map(\.bytes)) }
        guard self.token == token else { return }
        if lines.count == Self.linesPerTurn { return written() }
        try? epoll.modify(token, [.readable])
    }
}
