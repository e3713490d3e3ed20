/// One element of a field of a calendar expression: `5`, `1..5`, `10/5`, `1..10/2`, `*` of the seconds.
struct CalendarComponent: Hashable, Sendable {
    var start: Int
    /// The last value that it may reach; `nil`: that of the field.
    var stop: Int?
    /// From one value to the next; 0: there is only the first.
    var step: Int

    init(_ start: Int, through stop: Int? = nil, step: Int = 0) {
        self.start = start
        self.stop = stop
        self.step = step
    }

    /// The same values written in one way: a range ends at its last value, and one of a single value is that value.
    var normalized: CalendarComponent {
        guard let stop else { return self }
        if stop == start || (stop > start && step > 0 && start + step > stop) { return CalendarComponent(start) }
        guard stop > start, step > 0 else { return self }
        return CalendarComponent(start, through: stop - (stop - start) % step, step: step)
    }

    /// The first value that is not below this one and not above the end of the field.
    func next(from value: Int, limit: Int) -> Int? {
        if start >= value { return start }
        guard step > 0 else { return nil }
        let next = start + (value - start + step - 1) / step * step
        return next <= stop ?? limit ? next : nil
    }

    /// The last value that is not above this one.
    func previous(from value: Int, limit: Int) -> Int? {
        guard value >= start else { return nil }
        return step > 0 ? start + (min(value, stop ?? limit) - start) / step * step : start
    }

    /// How many of its values are below this one.
    func count(below value: Int, limit: Int) -> Int {
        previous(from: value - 1, limit: limit).map { step > 0 ? ($0 - start) / step + 1 : 1 } ?? 0
    }
}

extension [CalendarComponent] {
    /// In the order of the normal form, each once.
    var normalized: [CalendarComponent] {
        let sorted = map(\.normalized).sorted { left, right in
            (left.start, left.stop ?? -1, left.step) < (right.start, right.stop ?? -1, right.step)
        }
        return sorted.reduce(into: []) { result, component in
            if result.last != component { result.append(component) }
        }
    }

    func next(from value: Int, limit: Int) -> Int? {
        var result: Int?
        for component in self {
            guard let next = component.next(from: value, limit: limit) else { continue }
            if next == value { return next }
            result = Swift.min(result ?? next, next)
        }
        return result
    }

    func previous(from value: Int, limit: Int) -> Int? {
        var result: Int?
        for component in self {
            guard let previous = component.previous(from: value, limit: limit) else { continue }
            result = Swift.max(result ?? previous, previous)
        }
        return result
    }

    /// How far the repetitions without an end go beyond the end of the field; `nil`: there are none.
    func carry(beyond end: Int) -> Int? {
        filter { $0.stop == nil && $0.step > 0 && $0.start <= end }
            .map { $0.start + ((end - $0.start) / $0.step + 1) * $0.step - end }.min()
    }

    /// The values as bits, for a field whose values are below 64; no component means all of them.
    func bits(in field: ClosedRange<Int>) -> UInt64 {
        if isEmpty { return field.reduce(0) { $0 | 1 << UInt64($1) } }
        return reduce(0) { bits, component in
            let last = component.step > 0 ? component.stop ?? field.upperBound : component.start
            return stride(from: component.start, through: last, by: Swift.max(component.step, 1))
                .reduce(bits) { $0 | 1 << UInt64($1) }
        }
    }
}
