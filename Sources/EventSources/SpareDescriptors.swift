import LinuxSystem

/// Open descriptors without a source, by their names in the descriptor store: those of an earlier watchd, and those of
/// sources that were closed, for the ones that are opened in their place. Nothing that waits in them is lost meanwhile.
/// Confined to its context.
package final class SpareDescriptors {
    private struct Entry {
        var number: Int32
        var discarded: () -> Void
    }

    private var entries: [KeptDescriptor: Entry] = [:]
    private let forget: (KeptDescriptor) -> Void

    /// - Parameters:
    ///   - stored: descriptors to be owned, by name.
    ///   - forget: called with the name of each that is closed without being taken.
    package init(_ stored: [KeptDescriptor: Int32] = [:], forget: @escaping (KeptDescriptor) -> Void = { _ in }) {
        entries = stored.mapValues { Entry(number: $0, discarded: {}) }
        self.forget = forget
    }

    /// - Parameter discarded: called when it has been closed, because nobody took it.
    func put(_ name: KeptDescriptor, _ descriptor: consuming FileDescriptor, discarded: @escaping () -> Void = {}) {
        discard(name)
        entries[name] = Entry(number: descriptor.release(), discarded: discarded)
    }

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

    func discard(_ name: KeptDescriptor) {
        guard let entry = entries.removeValue(forKey: name) else { return }
        FileDescriptor(owning: entry.number).close()
        forget(name)
        entry.discarded()
    }

    func discardAll() {
        for name in Array(entries.keys) { discard(name) }
    }
}
