import Engine
import LinuxSystem
import WatchFile

/// Open descriptors without a source, by their names in the descriptor store: those of an earlier watchd, and those of
/// sources that were closed, for the ones that are opened in their place. Nothing that waits in them is lost meanwhile.
/// Confined to its context.
package final class SpareDescriptors {
    private struct Entry {
        var number: Int32
        var unfinished = Unfinished()
        var discarded: () -> Void
    }

    private var entries: [KeptDescriptor: Entry] = [:]
    private var untold: [SourceID: [LineFact]] = [:]
    private let forget: (KeptDescriptor) -> Void
    private let closing: (KeptDescriptor, Int32, Unfinished) -> Void
    private let lost: (SourceID, [LineFact]) -> Void

    /// - Parameters:
    ///   - stored: descriptors to be owned, by name.
    ///   - forget: called with the name of each that is closed without being taken.
    ///   - closing: called before that, to see what is in it, with what had been taken out and not told.
    ///   - lost: called with lines of a source that nobody has taken.
    init(
        _ stored: [KeptDescriptor: Int32] = [:], forget: @escaping (KeptDescriptor) -> Void = { _ in },
        closing: @escaping (KeptDescriptor, Int32, Unfinished) -> Void = { _, _, _ in },
        lost: @escaping (SourceID, [LineFact]) -> Void = { _, _ in }
    ) {
        entries = stored.mapValues { Entry(number: $0, discarded: {}) }
        self.forget = forget
        self.closing = closing
        self.lost = lost
    }

    /// - Parameters:
    ///   - unfinished: was taken out of it already.
    ///   - discarded: called when it has been closed, because nobody took it.
    func put(
        _ name: KeptDescriptor, _ descriptor: consuming FileDescriptor, unfinished: Unfinished = Unfinished(),
        discarded: @escaping () -> Void = {}
    ) {
        discard(name)
        entries[name] = Entry(number: descriptor.release(), unfinished: unfinished, discarded: discarded)
    }

    /// The rest that `take` of the same name would leave behind.
    func unfinished(_ name: KeptDescriptor) -> Unfinished { entries[name]?.unfinished ?? Unfinished() }

    /// The descriptor of that name; one that does not fit is closed.
    func take(_ name: KeptDescriptor, where fits: (Int32) -> Bool) -> FileDescriptor? {
        guard let entry = entries[name] else { return nil }
        guard fits(entry.number) else {
            discard(name)
            return nil
        }
        entries[name] = nil
        return FileDescriptor(owning: entry.number)
    }

    /// All connections of a source, in the order they were let in; those that do not fit are closed.
    func takeConnections(
        of id: SourceID, where fits: (Int32) -> Bool
    ) -> [(number: UInt64, descriptor: Int32, unfinished: Unfinished)] {
        connections(of: id).compactMap { number in
            let unfinished = unfinished(.connection(id, number))
            guard let taken = take(.connection(id, number), where: fits) else { return nil }
            return (number, taken.release(), unfinished)
        }
    }

    private func connections(of id: SourceID) -> [UInt64] {
        let numbers = entries.keys.compactMap { name in
            if case .connection(id, let number) = name { number } else { nil }
        }
        return numbers.sorted()
    }

    /// All that is left of a source is another's from now on.
    func rename(_ old: SourceID, to new: SourceID) -> [(old: KeptDescriptor, new: KeptDescriptor, number: Int32)] {
        leave(new, takeLines(of: old))
        return entries.keys.filter { $0.source == old }.compactMap { name in
            guard let renamed = name.renamed(new), let entry = entries.removeValue(forKey: name) else { return nil }
            entries[renamed] = entry
            return (name, renamed, entry.number)
        }
    }

    // MARK: Lines without a descriptor

    /// Lines of a source that was closed, for the one that is opened in its place.
    func leave(_ id: SourceID, _ lines: [LineFact]) { if !lines.isEmpty { untold[id, default: []] += lines } }

    func takeLines(of id: SourceID) -> [LineFact] { untold.removeValue(forKey: id) ?? [] }

    /// Nobody is opened any more.
    func discardLines() {
        for id in untold.keys { lost(id, takeLines(of: id)) }
    }

    // MARK: Descriptors that nobody takes

    /// Everything of that source.
    func discard(of id: SourceID, but wanted: KeptDescriptor? = nil) {
        lost(id, takeLines(of: id))
        for name in entries.keys where name.source == id && name != wanted { discard(name) }
    }

    func discard(_ name: KeptDescriptor) {
        guard let entry = entries.removeValue(forKey: name) else { return }
        closing(name, entry.number, entry.unfinished)
        FileDescriptor(owning: entry.number).close()
        forget(name)
        entry.discarded()
    }

    /// Everything, of sources that have come to rest: they have named what they had taken out of it and not told.
    func discardRested() {
        untold = [:]
        for name in entries.keys {
            entries[name]?.unfinished = Unfinished()
            discard(name)
        }
    }

    func discardAll(but wanted: Set<KeptDescriptor>) {
        discardLines()
        for name in entries.keys where !wanted.contains(name) { discard(name) }
    }
}
