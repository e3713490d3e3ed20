// MARK: - Backwards

extension CivilPattern {
    /// The last civil time that is not after this one.
    ///
    /// - Parameter first: where one that goes forwards begins; it comes into no unit that has begun before.
    func previous(from time: Int, since first: Int) -> Int? {
        var time = time
        while let previous = previousOfAll(from: time) {
            if carries.isNothing || !isLeftOut(previous, since: first) { return previous }
            time = previous - 1
        }
        return nil
    }

    /// Whether a repetition that comes into its minute, hour, day or year goes beyond it.
    private func isLeftOut(_ time: Int, since first: Int) -> Bool {
        let date = CivilDate(daysSinceEpoch: time / Self.microsecondsOfDay)
        let newYear = CivilDate(year: date.year, month: 1, day: 1).daysSinceEpoch * Self.microsecondsOfDay
        let units = [60_000_000, 3_600_000_000, Self.microsecondsOfDay]
        return (units.map { time / $0 * $0 } + [newYear]).contains { start in
            guard start > max(first, 0), let last = previousOfAll(from: start - 1), let next = next(from: last + 1)
            else { return false }
            return next > time
        }
    }

    private func previousOfAll(from time: Int) -> Int? {
        guard time >= 0, !isImpossible else { return nil }
        let (day, timeOfDay) = time.quotientAndRemainder(dividingBy: Self.microsecondsOfDay)
        guard let last = previousDay(from: CivilDate(daysSinceEpoch: day)) else { return nil }
        if last == day {
            if let previous = previousTime(from: timeOfDay) { return day * Self.microsecondsOfDay + previous }
            guard day > 0, let earlier = previousDay(from: CivilDate(daysSinceEpoch: day - 1)) else { return nil }
            return earlier * Self.microsecondsOfDay + lastTime
        }
        return last * Self.microsecondsOfDay + lastTime
    }

    private func previousDay(from date: CivilDate) -> Int? {
        var (month, day) = (date.month, date.day)
        var year = date.year
        while let found = previousYear(from: year) {
            if found != year { (month, day) = (12, 31) }
            year = found
            while let found = months.previous(from: month) {
                if found != month { day = 31 }
                month = found
                if let day = days(year: year, month: month).previous(from: day) {
                    return CivilDate(year: year, month: month, day: day).daysSinceEpoch
                }
                (month, day) = (month - 1, 31)
            }
            (year, month, day) = (year - 1, 12, 31)
        }
        return nil
    }

    private var lastTime: Int { (hours.last * 60 + minutes.last) * 60_000_000 + seconds.last }

    private func previousTime(from time: Int) -> Int? {
        let (minuteOfDay, microsecond) = time.quotientAndRemainder(dividingBy: 60_000_000)
        let (hour, minute) = minuteOfDay.quotientAndRemainder(dividingBy: 60)
        if hours.has(hour) {
            if minutes.has(minute), let previous = seconds.previous(from: microsecond) {
                return minuteOfDay * 60_000_000 + previous
            }
            if let previous = minutes.previous(from: minute - 1) {
                return (hour * 60 + previous) * 60_000_000 + seconds.last
            }
        }
        guard let previous = hours.previous(from: hour - 1) else { return nil }
        return (previous * 60 + minutes.last) * 60_000_000 + seconds.last
    }
}

// MARK: - Counting

extension CivilPattern {
    /// How many civil times there are in a range, those that are left out included; computed month by month, not time
    /// by time.
    func count(in range: Range<Int>) -> Int {
        guard !isImpossible else { return 0 }
        return count(before: range.upperBound) - count(before: range.lowerBound)
    }

    private func count(before time: Int) -> Int {
        guard time > 0 else { return 0 }
        let (day, timeOfDay) = time.quotientAndRemainder(dividingBy: Self.microsecondsOfDay)
        let date = CivilDate(daysSinceEpoch: day)
        var days = 0
        var isToday = false
        var year = Self.years.lowerBound
        while let found = nextYear(from: year), found <= date.year {
            year = found
            for month in 1...(found == date.year ? date.month : 12) where months.has(month) {
                var bits = self.days(year: year, month: month)
                if year == date.year && month == date.month {
                    isToday = bits.has(date.day)
                    bits &= (1 << UInt64(date.day)) - 1
                }
                days += bits.nonzeroBitCount
            }
            year += 1
        }
        let perHour = minutes.nonzeroBitCount * seconds.count
        return days * hours.nonzeroBitCount * perHour + (isToday ? countOfTimes(before: timeOfDay) : 0)
    }

    private func countOfTimes(before time: Int) -> Int {
        let (minuteOfDay, microsecond) = time.quotientAndRemainder(dividingBy: 60_000_000)
        let (hour, minute) = minuteOfDay.quotientAndRemainder(dividingBy: 60)
        var count = (hours & (1 << UInt64(hour) - 1)).nonzeroBitCount * minutes.nonzeroBitCount * seconds.count
        if hours.has(hour) {
            count += (minutes & (1 << UInt64(minute) - 1)).nonzeroBitCount * seconds.count
            if minutes.has(minute) { count += seconds.count(below: microsecond) }
        }
        return count
    }
}
