package import LinuxSystem

/// Descriptors that somebody else can hang up (pipes, FIFOs, sockets, pidfds), in an epoll set that is itself watched
/// by one Dispatch source.
///
/// The set's own descriptor never reports ERR or HUP, so the paths of libdispatch that spin, lose bytes or race are
/// never taken (Dispatch.md, fact 41); here both are seen and handled, and an unsuitable descriptor is an error when
/// it is added. Confined to its context.
package final class EpollSet {
    package typealias Handler = (EpollEvents) -> Void

    /// Reports taken in one turn, so that other sources of the context get theirs.
    private static let reportsPerTurn = 64

    private let epoll: Int32
    private var source: ReadSource?
    private var entries: [UInt64: (descriptor: Int32, handler: Handler)] = [:]
    private var lastToken: UInt64 = 0

    /// - Parameter during: called with each turn, which it has to run.
    package init(
        on context: Context, during: @escaping (_ turn: () -> Void) -> Void = { turn in turn() }
    ) throws(SystemError) {
        let set = try Linux.epollCreate()
        epoll = set.rawValue
        source = nil
        source = ReadSource(set, on: context) { [weak self] in
            if let self { during(turn) }
        }
    }

    /// Watches a descriptor, which stays the caller's and must be removed before it is closed.
    package func add(
        _ descriptor: Int32, _ events: EpollEvents, _ handler: @escaping Handler
    ) throws(SystemError) -> UInt64 {
        lastToken += 1
        try Linux.epollAdd(epoll, descriptor, events, token: lastToken)
        entries[lastToken] = (descriptor, handler)
        return lastToken
    }

    /// Throws for what could not be added: whatever is always ready.
    func check(_ descriptor: Int32) throws(SystemError) { remove(try add(descriptor, []) { _ in }) }

    package func modify(_ token: UInt64, _ events: EpollEvents) throws(SystemError) {
        guard let entry = entries[token] else { return }
        try Linux.epollModify(epoll, entry.descriptor, events, token: token)
    }

    package func remove(_ token: UInt64) {
        guard let entry = entries.removeValue(forKey: token) else { return }
        // It is in the set, so the kernel has no reason to refuse; if it did, its reports would find no entry.
        try? Linux.epollRemove(epoll, entry.descriptor)
    }

    package func cancel() {
        for token in Array(entries.keys) { remove(token) }
        source?.cancel()
        source = nil
    }

    private func turn() {
        guard let reports = try? Linux.epollWait(epoll, atMost: Self.reportsPerTurn, timeout: 0) else { return }
        for report in reports {
            // A handler before it in this turn may have removed it.
            entries[report.token]?.handler(report.events)
        }
    }
}
