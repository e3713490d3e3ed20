/// The seconds of a minute that an expression means, in microseconds.
struct SecondSet: Hashable, Sendable {
    private let components: [CalendarComponent]
    /// Bits 0 to 59, if all of them are whole seconds; else 0.
    private let bits: UInt64
    let first: Int
    let last: Int

    /// - Parameter components: at least one.
    init(_ components: [CalendarComponent]) {
        let isWhole = components.allSatisfy { component in
            component.start % Self.second == 0 && component.step % Self.second == 0
        }
        self.components = components
        bits =
            isWhole
            ? components.map { component in
                CalendarComponent(
                    component.start / Self.second, through: component.stop.map { $0 / Self.second },
                    step: component.step / Self.second)
            }.bits(in: 0...59) : 0
        first = components.next(from: 0, limit: CivilPattern.lastMicrosecond) ?? 0
        last = components.previous(from: CivilPattern.lastMicrosecond, limit: CivilPattern.lastMicrosecond) ?? 0
    }

    func next(from value: Int) -> Int? {
        if bits == 0 { return components.next(from: value, limit: CivilPattern.lastMicrosecond) }
        return bits.next(from: (value + Self.second - 1) / Self.second).map { $0 * Self.second }
    }

    func previous(from value: Int) -> Int? {
        if bits == 0 { return components.previous(from: value, limit: CivilPattern.lastMicrosecond) }
        return bits.previous(from: value / Self.second).map { $0 * Self.second }
    }

    var count: Int { count(below: CivilPattern.lastMicrosecond + 1) }

    /// Exact, but that values which several repetitions with fractions share are counted for each.
    func count(below value: Int) -> Int {
        if bits == 0 {
            return components.reduce(0) { $0 + $1.count(below: value, limit: CivilPattern.lastMicrosecond) }
        }
        let seconds = (value + Self.second - 1) / Self.second
        return (bits & ((1 << UInt64(seconds)) - 1)).nonzeroBitCount
    }

    private static let second = 1_000_000
}
