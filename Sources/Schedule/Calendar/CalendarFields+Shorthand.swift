extension CalendarFields {
    /// `daily`, `weekly`, … of systemd.time(7), whatever the case.
    static func shorthand(_ word: [UInt8]) -> CalendarFields? {
        guard let name = shorthands.first(where: { word.equalsIgnoringCase($0.name) }) else { return nil }
        return name.fields
    }

    private static let shorthands: [(name: String, fields: CalendarFields)] = {
        let zero = [CalendarComponent(0)]
        let one = [CalendarComponent(1)]
        let midnight = CalendarFields(hours: zero, minutes: zero)
        let yearly = CalendarFields(months: one, days: one, hours: zero, minutes: zero)
        func months(_ numbers: [Int]) -> CalendarFields {
            CalendarFields(months: numbers.map { CalendarComponent($0) }, days: one, hours: zero, minutes: zero)
        }
        let semiannually = months([1, 7])
        return [
            ("minutely", CalendarFields()), ("hourly", CalendarFields(minutes: zero)), ("daily", midnight),
            ("weekly", CalendarFields(weekdays: 1, hours: zero, minutes: zero)),
            ("monthly", CalendarFields(days: one, hours: zero, minutes: zero)),
            ("quarterly", months([1, 4, 7, 10])),
            ("semiannually", semiannually), ("semi-annually", semiannually), ("biannually", semiannually),
            ("bi-annually", semiannually),
            // The last is a mistake of old, which systemd keeps.
            ("annually", yearly), ("yearly", yearly), ("anually", yearly),
        ]
    }()
}
