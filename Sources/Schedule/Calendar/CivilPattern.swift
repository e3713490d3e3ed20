// Which moments of the calendar and of the clock on the wall an expression means, whatever the time zone.
//
// A civil time is the microseconds from 1970-01-01 00:00 to what the wall shows, as if it had shown UTC ever since. The
// fields below the year are bits, so that the next value of each is one instruction away.
//
// A repetition without an end (`0/25`) does not end in its field for systemd: it goes on (50, 75) into the next unit,
// and where that ends a larger unit too, it keeps what is beyond (23:75 becomes 00:15, and so 00:00 is left out; but
// 22:75 becomes 23:00). `carries` are those rests; the elapses are to be the same.

/// The civil times of a calendar expression.
struct CivilPattern: Hashable, Sendable {
    static let microsecondsOfDay = 86_400_000_000
    static let years = 1970...2199
    static let lastMicrosecond = 59_999_999

    /// Empty: all of them.
    let years: [CalendarComponent]
    /// Bits 1 to 12.
    let months: UInt64
    /// Bits 1 to 31, of months with 28, 29, 30 and 31 days.
    let days: [UInt64]
    /// Bits 1 to 31 of a month that begins on a Monday, a Tuesday, …; empty: all of them.
    let weekdays: [UInt64]
    /// Bits 0 to 23.
    let hours: UInt64
    /// Bits 0 to 59.
    let minutes: UInt64
    let seconds: SecondSet
    let carries: Carries
    /// There is no such day in any year.
    let isImpossible: Bool

    /// How far repetitions without an end go beyond the end of their field; `nil`: there are none.
    struct Carries: Hashable, Sendable {
        /// In December, beyond the 31st: at least 1.
        var day: Int?
        var hour: Int?
        var minute: Int?
        /// In microseconds.
        var second: Int?

        /// They leave nothing out.
        var isNothing: Bool { [day.map { $0 - 1 }, hour, minute, second].allSatisfy { $0 ?? 0 == 0 } }
    }

    init(
        years: [CalendarComponent], months: [CalendarComponent], days: [CalendarComponent], fromEndOfMonth: Bool,
        weekdays: UInt8, hours: [CalendarComponent], minutes: [CalendarComponent], seconds: [CalendarComponent]
    ) {
        self.years = years
        self.months = months.bits(in: 1...12)
        self.days = (28...31).map { Self.days(days, fromEnd: fromEndOfMonth, length: $0) }
        self.weekdays = weekdays & 0x7F == 0x7F ? [] : (0..<7).map { Self.weekdays(weekdays, first: $0) }
        self.hours = hours.bits(in: 0...23)
        self.minutes = minutes.bits(in: 0...59)
        self.seconds = SecondSet(seconds)
        let daysOfDecember =
            fromEndOfMonth ? days.map { CalendarComponent(32 - $0.start, through: $0.stop, step: $0.step) } : days
        carries = Carries(
            day: daysOfDecember.carry(beyond: 31), hour: hours.carry(beyond: 23).map { $0 - 1 },
            minute: minutes.carry(beyond: 59).map { $0 - 1 },
            second: seconds.carry(beyond: Self.lastMicrosecond).map { $0 - 1 })
        let (months, dayBits) = (self.months, self.days)
        isImpossible = !(1...12).contains { month in
            months & 1 << UInt64(month) != 0 && dayBits[CivilDate.days(ofMonth: month, in: 2000) - 28] != 0
        }
    }

    private static func days(_ components: [CalendarComponent], fromEnd: Bool, length: Int) -> UInt64 {
        let all = (UInt64(1) << UInt64(length + 1)) - 2
        guard fromEnd, !components.isEmpty else { return components.bits(in: 1...31) & all }
        // The Nth day from the end; `/` goes forward from there to the end of the month.
        let mirrored = components.map { component in
            let start = length + 1 - (component.stop ?? component.start)
            let stop = component.stop == nil ? nil : length + 1 - component.start
            return CalendarComponent(start, through: stop, step: component.step)
        }
        return mirrored.bits(in: 1...length) & all
    }

    private static func weekdays(_ weekdays: UInt8, first: Int) -> UInt64 {
        (1...31).reduce(0) { bits, day in
            weekdays & 1 << UInt8((first + day - 1) % 7) != 0 ? bits | 1 << UInt64(day) : bits
        }
    }

    /// The days of a month that are meant, as bits 1 to 31.
    func days(year: Int, month: Int) -> UInt64 {
        let bits = days[CivilDate.days(ofMonth: month, in: year) - 28]
        guard bits != 0, !weekdays.isEmpty else { return bits }
        let first = CivilDate(year: year, month: month, day: 1).daysSinceEpoch
        return bits & weekdays[CivilDate.weekday(daysSinceEpoch: first)]
    }

    func nextYear(from year: Int) -> Int? {
        guard year <= Self.years.upperBound else { return nil }
        let year = max(year, Self.years.lowerBound)
        return years.isEmpty ? year : years.next(from: year, limit: Self.years.upperBound)
    }

    func previousYear(from year: Int) -> Int? {
        guard year >= Self.years.lowerBound else { return nil }
        let year = min(year, Self.years.upperBound)
        return years.isEmpty ? year : years.previous(from: year, limit: Self.years.upperBound)
    }
}

// MARK: - Forwards

extension CivilPattern {
    /// The first civil time that is not before this one.
    func next(from time: Int) -> Int? {
        guard !isImpossible else { return nil }
        var time = max(time, 0)
        while true {
            let (day, timeOfDay) = time.quotientAndRemainder(dividingBy: Self.microsecondsOfDay)
            let date = CivilDate(daysSinceEpoch: day)
            guard let found = nextDay(from: date) else { return nil }
            if found != day { return found * Self.microsecondsOfDay + firstTime }
            switch nextTime(from: timeOfDay) {
            case .time(let next): return day * Self.microsecondsOfDay + next
            case .later(let later): time = day * Self.microsecondsOfDay + later
            case .tomorrow:
                let isLast = date.day == CivilDate.days(ofMonth: date.month, in: date.year)
                time = (day + 1) * Self.microsecondsOfDay + (isLast ? carries.hour ?? 0 : 0) * 3_600_000_000
            }
        }
    }

    /// Days since the epoch.
    private func nextDay(from date: CivilDate) -> Int? {
        var (month, day) = (date.month, date.day)
        var year = date.year
        while let found = nextYear(from: year) {
            if found != year { (month, day) = (1, 1) }
            year = found
            while let found = months.next(from: month) {
                if found != month { day = 1 }
                month = found
                if let day = days(year: year, month: month).next(from: day) {
                    return CivilDate(year: year, month: month, day: day).daysSinceEpoch
                }
                (month, day) = (month + 1, 1)
            }
            // After the last day of December that is meant.
            let carries = month == 13 && !days[3].has(31)
            (year, month, day) = (year + 1, 1, carries ? self.carries.day ?? 1 : 1)
        }
        return nil
    }

    private var firstTime: Int {
        (hours.trailingZeroBitCount * 60 + minutes.trailingZeroBitCount) * 60_000_000 + seconds.first
    }

    private enum NextTime {
        case time(Int)
        /// Not before then.
        case later(Int)
        case tomorrow
    }

    /// Of microseconds since midnight.
    private func nextTime(from time: Int) -> NextTime {
        let (minuteOfDay, microsecond) = time.quotientAndRemainder(dividingBy: 60_000_000)
        let (hour, minute) = minuteOfDay.quotientAndRemainder(dividingBy: 60)
        guard hours.has(hour) else {
            guard let next = hours.next(from: hour + 1) else { return .tomorrow }
            return .time((next * 60 + minutes.trailingZeroBitCount) * 60_000_000 + seconds.first)
        }
        guard minutes.has(minute) else {
            if let next = minutes.next(from: minute + 1) {
                return .time((hour * 60 + next) * 60_000_000 + seconds.first)
            }
            return .later(((hour + 1) * 60 + (hour == 23 ? carries.minute ?? 0 : 0)) * 60_000_000)
        }
        if let next = seconds.next(from: microsecond) { return .time(minuteOfDay * 60_000_000 + next) }
        let carry = carries.second ?? 0
        return .later((minuteOfDay + 1) * 60_000_000 + (minute == 59 ? carry : carry % 1_000_000))
    }
}

extension UInt64 {
    /// Those of a set of small numbers kept as bits.
    func has(_ value: Int) -> Bool { self & 1 << UInt64(value) != 0 }

    /// The least that is not below this one.
    func next(from value: Int) -> Int? {
        guard value < 64 else { return nil }
        let rest = self & ~((1 << UInt64(value)) - 1)
        return rest == 0 ? nil : rest.trailingZeroBitCount
    }

    /// The greatest that is not above this one.
    func previous(from value: Int) -> Int? {
        guard value >= 0 else { return nil }
        let rest = value >= 63 ? self : self & ((1 << UInt64(value + 1)) - 1)
        return rest == 0 ? nil : rest.last
    }

    /// The greatest of a set that is not empty.
    var last: Int { 63 - leadingZeroBitCount }
}
