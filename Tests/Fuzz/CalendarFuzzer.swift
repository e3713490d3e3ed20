import Schedule

/// The entry point of libFuzzer: whatever the text, reading it as a calendar expression or a cron line ends; what is
/// read is the same when it is written and read again, and its elapses ascend, forwards as backwards.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCalendar(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard bytes.count > 5 else { return 0 }
    let base = bytes.prefix(5).reduce(Int64(0)) { $0 << 8 | Int64($1) } * 10_000
    let text = String(decoding: bytes.dropFirst(5), as: UTF8.self)
    for rules in zones {
        let names = CalendarExpression.ZoneNames(local: rules) { $0 == "Europe/Berlin" }
        do throws(CalendarExpression.ParseError) {
            let expression = try CalendarExpression(parsing: text, zones: names)
            precondition((try? CalendarExpression(parsing: expression.description, zones: names)) == expression)
            check(expression, base, rules)
        } catch {
            check(error.range, text)
            precondition(!error.description.isEmpty)
        }
        do throws(CronExpression.ParseError) {
            let expression = try CronExpression(parsing: text)
            precondition((try? CronExpression(parsing: expression.description)) == expression)
            check(expression, base, rules)
        } catch {
            check(error.range, text)
            precondition(!error.description.isEmpty)
        }
    }
    return 0
}

private let zones: [TimeZoneRules] = ["CET-1CEST,M3.5.0,M10.5.0/3", "IST-1GMT0,M10.5.0,M3.5.0/1"].compactMap {
    try? TimeZoneRules(posix: $0)
}

private func check(_ range: Range<Int>, _ text: String) {
    precondition(range.lowerBound >= 0 && range.upperBound <= text.utf8.count)
}

private func check(_ schedule: some CalendarSchedule, _ base: Int64, _ rules: TimeZoneRules) {
    for daylightSaving in DaylightSaving.allCases {
        var elapses: [Int64] = []
        while elapses.count < 4,
            let next = schedule.nextElapse(
                after: elapses.last ?? base, in: rules, daylightSaving: daylightSaving)
        {
            precondition(next > elapses.last ?? base)
            elapses.append(next)
        }
        guard let last = elapses.last else { continue }
        let newest = schedule.newestElapses(
            after: base, through: last, limit: 3, in: rules, daylightSaving: daylightSaving)
        precondition(newest.instants.count <= 3 && newest.count >= newest.instants.count)
        if daylightSaving == .run { precondition(newest.instants == elapses.suffix(3)) }
    }
}
