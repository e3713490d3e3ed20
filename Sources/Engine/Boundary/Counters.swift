/// Where a delivery (one event for one handler) is: exactly one of these at every moment.
package enum Place: Int, CaseIterable, Sendable {
    case held, pending, running, done, failed, cancelled, skipped, dropped, annulled
}

/// The accounting of a source, a queue or a handler.
///
/// `accepted = held + pending + running + done + failed + cancelled + skipped + dropped + annulled`, at every moment:
/// a delivery enters once and then only moves.
package struct Counters: Equatable, Sendable {
    private var places = InlineArray<9, Int>(repeating: 0)
    /// Deliveries that joined an operation already waiting; they are counted at that operation's place too.
    package internal(set) var coalesced = 0
    /// Events a filter refused before they were accepted.
    package internal(set) var filtered = 0
    /// Events the kernel is known to have dropped.
    package internal(set) var gap = 0

    package init() {}

    package subscript(place: Place) -> Int { places[place.rawValue] }

    /// Deliveries taken in since the start.
    package var accepted: Int { places.indices.reduce(0) { $0 + places[$1] } }

    mutating func enter(_ count: Int, at place: Place) {
        places[place.rawValue] += count
    }

    mutating func move(_ count: Int, from: Place, to: Place) {
        places[from.rawValue] -= count
        places[to.rawValue] += count
    }

    /// Deliveries that have not ended.
    package var outstanding: Int { self[.held] + self[.pending] + self[.running] }

    package static func == (left: Counters, right: Counters) -> Bool {
        Place.allCases.allSatisfy { left[$0] == right[$0] }
            && left.coalesced == right.coalesced && left.filtered == right.filtered && left.gap == right.gap
    }

    package static func + (left: Counters, right: Counters) -> Counters {
        var sum = left
        for place in Place.allCases { sum.places[place.rawValue] += right[place] }
        sum.coalesced += right.coalesced
        sum.filtered += right.filtered
        sum.gap += right.gap
        return sum
    }
}
