import WatchFile

extension Engine {
    /// Why `caller` may not wait for something: one sentence for each link, from what is waited for to the caller.
    /// `nil`: it may.
    package func deadlock(of caller: UInt64, waitingFor awaited: Awaited) -> [String]? {
        guard let ref = operations.ref(id: caller) else { return nil }
        var search = DeadlockSearch(engine: self, caller: ref)
        return search.chain(for: awaited)
    }
}
