import Engine

/// The accounting in words; the places that hold nothing are left out.
enum CountersText {
    static func sentence(_ counters: EngineCounters) -> String {
        let parts = Place.allCases.compactMap { place -> String? in
            counters[place] == 0 ? nil : "\(counters[place]) \(place)"
        }
        let sum =
            parts.isEmpty ? "nothing accepted" : "\(counters.accepted) accepted = " + parts.joined(separator: " + ")
        return counters.coalesced == 0 ? sum : sum + "; \(counters.coalesced) coalesced"
    }
}
