import LinuxSystem

/// The processes from a client up to the first one: is the client a part of a handler's run?
///
/// Read from `/proc` on a context of its own: a file there belongs to somebody else's process, and the core shall not
/// wait for it; other clients do only if they are looked up too. The reads are bounded: so many processes, the place
/// and the environment of each.
struct Ancestry: Sendable {
    /// Processes that are looked at; a deeper client counts as nobody's.
    static let limit = 64

    struct Process: Sendable {
        var id: Int32
        /// `WATCHD_OPERATION` of its environment: what it says of itself, to be checked.
        var operation: UInt64?
    }

    /// The client first.
    let processes: [Process]

    /// Of a client that need not be looked up, because no handler runs.
    static let unknown = Ancestry()

    private init() { processes = [] }

    init(of client: Int32) {
        var processes: [Process] = []
        var id = client
        while id > 1, processes.count < Self.limit, let place = Linux.place(of: id) {
            let named = place.isStuck ? nil : Linux.environment("WATCHD_OPERATION", of: id)
            processes.append(Process(id: id, operation: named.flatMap { UInt64(String(decoding: $0, as: UTF8.self)) }))
            id = place.parentID
        }
        self.processes = processes
    }
}
