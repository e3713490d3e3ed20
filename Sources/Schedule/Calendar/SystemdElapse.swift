// How systemd 252 walks the calendar (`find_next()` of `calendarspec.c`), with `mktime(3)` of glibc: where the clocks
// are changed, its answers depend on the steps on the way, so the steps are followed. It refuses to go backwards, gives
// up after 1000 steps, and both happen at gaps; then it is stuck, and says so.

struct SystemdElapse {
    private let expression: CalendarExpression
    private let rules: TimeZoneRules
    /// The value of `tm_isdst`; `nil`: -1, unknown.
    private let pinned: Bool?

    private var fields: CivilFields
    private var microsecond: Int
    private var isDaylightSaving: Bool?
    /// The result of the last conversion; the next one tries it first.
    private var offset: Int
    /// The period of the last look; most steps stay in it.
    private var period: TimeZoneRules.Period

    private static let mostSteps = 1000

    private enum Check {
        case good, moved, bad
    }

    private enum Step {
        case again, never, found
    }

    /// The first elapse that is not before an instant (microseconds since the epoch, not negative).
    static func first(
        of expression: CalendarExpression, from instant: Int, in rules: TimeZoneRules, pinned: Bool?
    ) -> (instant: Int?, isStuck: Bool) {
        let period = rules.period(at: instant / 1_000_000)
        let civil = instant / 1_000_000 + period.offset
        guard civil >= 0 else { return (nil, true) }
        guard !expression.pattern.isImpossible else { return (nil, false) }
        var elapse = SystemdElapse(
            expression: expression, rules: rules, pinned: pinned, fields: CivilFields(civil: civil),
            microsecond: instant % 1_000_000, isDaylightSaving: period.isDaylightSaving, offset: period.offset,
            period: period)
        return elapse.walk()
    }

    private mutating func walk() -> (instant: Int?, isStuck: Bool) {
        let start = (fields, microsecond)
        var isUnstuck = false
        for _ in 0..<Self.mostSteps {
            if let (_, normal, isDaylightSaving) = converted() {
                fields = normal
                self.isDaylightSaving = isDaylightSaving
            }
            if !isUnstuck { isDaylightSaving = pinned }
            switch step() {
            case .again: continue
            case .never: return (nil, false)
            case .found:
                if fields < start.0 || fields == start.0 && microsecond < start.1 {
                    // It went back in time: an hour further it tries again.
                    isUnstuck = true
                    fields.hour += 1
                    continue
                }
                guard let (found, _, _) = converted() else { return (nil, false) }
                return (found * 1_000_000 + microsecond, false)
            }
        }
        return (nil, true)
    }

    // MARK: - Steps

    private var pattern: CivilPattern { expression.pattern }

    private mutating func step() -> Step {
        guard let year = pattern.nextYear(from: fields.year) else { return .never }
        if year != fields.year { set(.year, year) }
        guard check() == .good else { return .never }
        if let step = take(pattern.months.next(from: fields.month), .month) { return step }
        if let step = take(nextDay(), .day) { return step }
        guard pattern.days(year: fields.year, month: fields.month).has(fields.day) else {
            set(.day, fields.day + 1)
            return .again
        }
        let hour = pattern.hours.next(from: fields.hour) ?? pattern.carries.hour.map { 24 + $0 }
        if let step = take(hour, .hour) { return step }
        let minute = pattern.minutes.next(from: fields.minute) ?? pattern.carries.minute.map { 60 + $0 }
        if let step = take(minute, .minute) { return step }
        let second =
            pattern.seconds.next(from: fields.second * 1_000_000 + microsecond)
            ?? pattern.carries.second.map { CivilPattern.lastMicrosecond + 1 + $0 }
        if let second { (fields.second, microsecond) = second.quotientAndRemainder(dividingBy: 1_000_000) }
        return check(second, .second) ?? .found
    }

    /// Goes to the next value of a field; `nil`: it is good.
    private mutating func take(_ value: Int?, _ field: CivilFields.Field) -> Step? {
        if let value, value != fields[field] { set(field, value) }
        return check(value, field)
    }

    private mutating func check(_ value: Int?, _ field: CivilFields.Field) -> Step? {
        switch value == nil ? .bad : check() {
        case .good: return nil
        case .moved: return .again
        case .bad:
            let larger = CivilFields.Field(rawValue: field.rawValue - 1) ?? .year
            set(larger, fields[larger] + 1)
            return .again
        }
    }

    private mutating func set(_ field: CivilFields.Field, _ value: Int) {
        fields[field] = value
        fields.reset(below: field)
        microsecond = 0
    }

    /// Beyond the month where only the next one has such a day.
    private mutating func nextDay() -> Int? {
        let length = CivilDate.days(ofMonth: fields.month, in: fields.year)
        guard expression.isFromEndOfMonth else {
            return pattern.days[3].next(from: fields.day) ?? pattern.carries.day.map { 31 + $0 }
        }
        // The end of the month is found by conversions, too.
        for component in expression.days {
            for day in [component.start, component.stop ?? -1] {
                var end = fields
                (end.month, end.day) = (end.month + 1, 1 - day)
                _ = mktime(end.civil, isDaylightSaving)
            }
        }
        return pattern.days[length - 28].next(from: fields.day) ?? pattern.carries.day.map { 31 + $0 }
    }

    /// `tm_within_bounds()`: whether there is such a time. What is normalised forward is taken over, with the field
    /// below the one that moved reset; backward is refused.
    private mutating func check() -> Check {
        guard fields.year <= CivilPattern.years.upperBound, let (_, normal, isDaylightSaving) = converted() else {
            return .bad
        }
        guard let moved = CivilFields.Field.allCases.first(where: { normal[$0] != fields[$0] }) else { return .good }
        guard normal[moved] > fields[moved] else { return .bad }
        fields = normal
        if let next = CivilFields.Field(rawValue: moved.rawValue + 1) { fields[next] = next.first }
        self.isDaylightSaving = isDaylightSaving
        return .moved
    }

    // MARK: - Conversion

    /// The instant of the fields, in seconds, and what the clocks show then.
    private mutating func converted() -> (instant: Int, fields: CivilFields, isDaylightSaving: Bool)? {
        guard let instant = mktime(fields.civil, isDaylightSaving), instant >= 0 else { return nil }
        look(at: instant)
        guard instant + period.offset >= 0 else { return nil }
        return (instant, CivilFields(civil: instant + period.offset), period.isDaylightSaving)
    }

    /// `mktime(3)` as glibc 2.36 has it: the offset of last time is tried first, then it is corrected until it fits; in
    /// a gap it oscillates, and daylight-saving time wins.
    private mutating func mktime(_ civil: Int, _ wanted: Bool?) -> Int? {
        var (first, second, instant) = (civil - offset, civil - offset, civil - offset)
        var wasDaylightSaving = false
        var isInGap = false
        var probes = 6
        look(at: instant)
        while instant + period.offset != civil {
            if instant == first, instant != second,
                wanted.map({ $0 != period.isDaylightSaving }) ?? (!wasDaylightSaving || period.isDaylightSaving)
            {
                isInGap = true
                break
            }
            probes -= 1
            if probes == 0 { return nil }
            (first, second, instant) = (second, instant, civil - period.offset)
            wasDaylightSaving = period.isDaylightSaving
            look(at: instant)
        }
        if !isInGap, let wanted, wanted != period.isDaylightSaving {
            guard let neighbour = neighbour(of: instant, wanted) else { return nil }
            instant = civil - neighbour
        }
        offset = civil - instant
        return instant
    }

    private mutating func look(at instant: Int) {
        if instant < period.start || instant >= period.end { period = rules.period(at: instant) }
    }

    /// The offset that holds nearby while daylight-saving time is as wanted.
    private func neighbour(of instant: Int, _ wanted: Bool) -> Int? {
        let stride = 601_200
        for distance in Swift.stride(from: stride, to: 536_454_000 / 2 + stride, by: stride) {
            for direction in [-1, 1] {
                let period = rules.period(at: instant + distance * direction)
                if period.isDaylightSaving == wanted { return period.offset }
            }
        }
        return nil
    }
}
