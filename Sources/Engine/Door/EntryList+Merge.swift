import WatchFile

/// `Merge=` of `[Custom]`, and elapses of a timer: an event goes into the entry that waits already.
extension EntryList {
    mutating func fold(_ event: Event, _ merged: (Fact) -> Fact?) {
        for slot in slots.indices.reversed() where slots[slot].count > 0 {
            guard let fact = merged(slots[slot].fact) else { continue }
            let count = remove(slot).count + event.count
            return append(event.telling(fact, count: count))
        }
        append(event)
    }

    /// The entry that custom data would fold into: a payload is overwritten by `replace` only.
    func customSlot(_ fact: CustomFact, _ merge: CustomTrigger.Merge) -> Int? {
        guard merge == .replace || fact.payload == nil else { return nil }
        return slots.lastIndex {
            guard $0.count > 0, case .custom(let other) = $0.fact else { return false }
            return merge == .replace || other.payload == nil
        }
    }

    /// Returns the deliveries annulled: what comes to 0 is no event, as in Dispatch.
    mutating func addCustom(
        _ event: Event, _ fact: CustomFact, _ merge: CustomTrigger.Merge, keepsNothing: Bool = false
    ) -> Int {
        var result = event
        if let slot = customSlot(fact, merge), case .custom(let waiting) = slots[slot].fact {
            let older = remove(slot)
            result.count += older.count
            if let trace = older.trace { result.trace = trace }
            let (old, new) = (waiting.data ?? 0, fact.data ?? 0)
            switch merge {
            case .add: result.fact = .custom(CustomFact(data: old &+ new))
            case .or: result.fact = .custom(CustomFact(data: old | new))
            case .replace: break
            }
        }
        if result.isNothing, !keepsNothing { return result.count }
        append(result)
        return 0
    }
}
