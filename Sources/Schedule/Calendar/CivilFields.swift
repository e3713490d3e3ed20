/// `struct tm`: a civil time in its fields; what is beyond the end of one counts in the next larger one.
struct CivilFields: Equatable {
    /// The largest first.
    enum Field: Int, CaseIterable {
        case year, month, day, hour, minute, second

        /// Its least value; of a year it means nothing.
        var first: Int { self == .month || self == .day ? 1 : 0 }
    }

    var year: Int
    var month: Int
    var day: Int
    var hour: Int
    var minute: Int
    var second: Int

    /// - Parameter civil: seconds since 1970-01-01 00:00 of the clock on the wall; not negative.
    init(civil: Int) {
        let (day, second) = civil.quotientAndRemainder(dividingBy: 86_400)
        let date = CivilDate(daysSinceEpoch: day)
        (year, month, self.day) = (date.year, date.month, date.day)
        (hour, minute, self.second) = (second / 3600, second / 60 % 60, second % 60)
    }

    /// Seconds as above; a month may be 13 at most, a year at least 1970.
    var civil: Int {
        let date = CivilDate(year: month > 12 ? year + 1 : year, month: month > 12 ? month - 12 : month, day: 1)
        return (date.daysSinceEpoch + day - 1) * 86_400 + hour * 3600 + minute * 60 + second
    }

    subscript(field: Field) -> Int {
        get {
            switch field {
            case .year: year
            case .month: month
            case .day: day
            case .hour: hour
            case .minute: minute
            case .second: second
            }
        }
        set {
            switch field {
            case .year: year = newValue
            case .month: month = newValue
            case .day: day = newValue
            case .hour: hour = newValue
            case .minute: minute = newValue
            case .second: second = newValue
            }
        }
    }

    mutating func reset(below field: Field) {
        for rest in Field.allCases where rest.rawValue > field.rawValue { self[rest] = rest.first }
    }

    /// In the order of time.
    static func < (left: CivilFields, right: CivilFields) -> Bool { left.civil < right.civil }
}
