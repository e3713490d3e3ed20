import EventSources
import LinuxSystem

/// Looks up who the clients are that want to wait, one after another beside the core. Confined to the core.
///
/// A look into `/proc` may hang with the process that it looks at, and those behind it wait as long; so nobody is
/// looked up whose answer does not depend on it, and only so many at once.
final class PeerLookups {
    /// Clients that are looked up or wait for that; one more is refused.
    static let limit = 256

    private let core: Context
    /// Where `/proc` is read.
    private let processes: Context
    private var count = 0
    /// By connection, for each that is looked up: what came after, at most that nobody reads the answer and that it has
    /// closed.
    private var later: [Int: [() -> Void]] = [:]

    init(core: Context, processes: Context) {
        self.core = core
        self.processes = processes
    }

    /// Calls `done` on the core when the client is known. A connection asks for one at a time.
    /// - Returns: false if too many wait; `done` is not called then.
    func look(up peer: Peer, _ done: @escaping (Ancestry) -> Void) -> Bool {
        guard count < Self.limit else { return false }
        count += 1
        later[peer.connection] = []
        let finish = QueueBound({ [unowned self] (ancestry: Ancestry) in found(ancestry, of: peer, done) }, to: core)
        processes.async { [core, process = peer.processID] in
            let ancestry = Ancestry(of: process)
            core.async { finish.value(ancestry) }
        }
        return true
    }

    /// Calls `body` behind what this connection has asked for.
    func behind(_ connection: Int, _ body: @escaping () -> Void) {
        if later[connection] == nil { body() } else { later[connection]?.append(body) }
    }

    private func found(_ ancestry: Ancestry, of peer: Peer, _ done: (Ancestry) -> Void) {
        count -= 1
        let later = later.removeValue(forKey: peer.connection) ?? []
        done(ancestry)
        for body in later { body() }
    }
}
