/// A day of the Gregorian calendar, from 1970 on; integer arithmetic only.
///
/// The conversions count from 1 March of the year 0, so that the leap day is the last of its year.
struct CivilDate: Hashable {
    var year: Int
    /// 1 to 12.
    var month: Int
    /// 1 to 31.
    var day: Int

    init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    init(daysSinceEpoch: Int) {
        let days = daysSinceEpoch + Self.daysToEpoch
        let (era, dayOfEra) = days.quotientAndRemainder(dividingBy: Self.daysOfEra)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }

    /// Meaningful for a valid date only; negative before 1970.
    var daysSinceEpoch: Int {
        let yearFromMarch = month <= 2 ? year - 1 : year
        let era = (yearFromMarch >= 0 ? yearFromMarch : yearFromMarch - 399) / 400
        let yearOfEra = yearFromMarch - era * 400
        let monthFromMarch = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * Self.daysOfEra + dayOfEra - Self.daysToEpoch
    }

    var isValid: Bool { (1...12).contains(month) && (1...Self.days(ofMonth: month, in: year)).contains(day) }

    /// 0 is Monday; for a day from 1970 on.
    static func weekday(daysSinceEpoch: Int) -> Int { (daysSinceEpoch + 3) % 7 }

    /// - Parameter month: 1 to 12.
    static func days(ofMonth month: Int, in year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static let daysOfEra = 146_097
    /// From 0000-03-01 to 1970-01-01.
    private static let daysToEpoch = 719_468
}
