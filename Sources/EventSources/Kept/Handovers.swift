package import LinuxSystem

/// Descriptors that are on their way to a handler, by the number that their event carries (`LineFact.handover`), and
/// conditions that hold (`PathFact.handover`). Each is closed when everything that was made of its event has ended, in whatever way. Confined to the core.
package final class Handovers {
    private struct Entry {
        /// `nil`: only its end is waited for.
        var descriptor: Int32?
        /// Deliveries of the event that have not ended.
        var outstanding = 0
        var ended: (_ hasFailed: Bool) -> Void
        var hasFailed = false
    }

    private var entries: [UInt64: Entry] = [:]
    private var last: UInt64

    package init() {
        // None of an earlier daemon's, which may stand in the history.
        last = UInt64(max(0, Linux.now(.realtime)))
    }

    package var count: Int { entries.count }

    /// - Parameter ended: called once, when it has been closed. `hasFailed`: something of it did not succeed.
    /// - Returns: the number that its event is to carry, of exactly one event.
    func add(_ descriptor: consuming FileDescriptor, ended: @escaping (_ hasFailed: Bool) -> Void) -> UInt64 {
        last += 1
        entries[last] = Entry(descriptor: descriptor.release(), ended: ended)
        return last
    }

    /// The same of an event that brings no descriptor.
    func add(ended: @escaping (_ hasFailed: Bool) -> Void) -> UInt64 {
        last += 1
        entries[last] = Entry(descriptor: nil, ended: ended)
        return last
    }

    /// Another descriptor of the same open file; `nil`: it is closed.
    package func duplicate(_ number: UInt64) throws(SystemError) -> FileDescriptor? {
        guard let descriptor = entries[number]?.descriptor else { return nil }
        return try Linux.duplicate(descriptor)
    }

    /// Its event was accepted, for so many handlers.
    package func accepted(_ number: UInt64, deliveries: Int) { entries[number]?.outstanding += deliveries }

    /// A delivery of it has ended.
    package func ended(_ number: UInt64, hasFailed: Bool) {
        guard var entry = entries[number] else { return }
        entry.outstanding -= 1
        entry.hasFailed = entry.hasFailed || hasFailed
        entries[number] = entry
        if entry.outstanding <= 0 { close(number) }
    }

    /// Its event has been handled: where nobody accepted it, that was all.
    package func settle(_ number: UInt64) {
        if entries[number]?.outstanding == 0 { close(number) }
    }

    private func close(_ number: UInt64) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        if let descriptor = entry.descriptor { FileDescriptor(owning: descriptor).close() }
        entry.ended(entry.hasFailed)
    }
}
