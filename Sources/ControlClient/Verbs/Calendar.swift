import JSON
import Schedule
import TimeZoneFiles
import Varlink

extension Verb {
    static let calendar = Verb(
        name: "calendar", operands: "EXPRESSION…", operandCount: 1...Int.max,
        options: [.iterations, .baseTime, .daylightSaving],
        summary: "when calendar expressions elapse; needs no daemon",
        notes: [
            "Expressions are those of OnCalendar=: “Mon..Fri 02:30”, “*:0/15”, “daily Europe/Berlin”. Times are shown in the",
            "zone of TZ, else in the local one. If one is invalid, the status is 1. TIME is",
            "\(PastTime.forms).",
        ]
    ) { (invocation, session) throws(Failure) in
        let request = try CalendarRequest(invocation, session)
        let answers = invocation.operands.map { CalendarAnswer($0, request) }
        if session.isJSON {
            if let text = try? JSON.encode(answers.map(\.json)) { session.print(json: text) }
        } else {
            let screen = CalendarScreen(screen: session.screen, local: request.local)
            session.print(Styled.blocks(answers.compactMap { screen.lines($0) }))
        }
        let problems = answers.compactMap(\.problem)
        guard !problems.isEmpty else { return .done }
        if session.isJSON { return .failed }
        throw Failure(
            message: problems.count == 1 && answers.count == 1
                ? "this is no calendar expression"
                : "\(problems.count) of \(answers.count) expressions \(problems.count == 1 ? "is" : "are") invalid",
            details: problems.map { $0.text(width: session.screen.width) }, exitCode: .failed)
    }
}

/// The options that hold for every expression.
struct CalendarRequest {
    /// More would only fill the memory.
    static let mostIterations = 1_000_000

    var iterations: Int
    /// Microseconds since the epoch.
    var base: Int64
    var daylightSaving: DaylightSaving
    var local: TimeZoneRules
    var names: CalendarExpression.ZoneNames
    /// The rules of a zone that is known.
    var rules: (String) -> TimeZoneRules

    init(_ invocation: Invocation, _ session: Session) throws(Failure) {
        iterations = try invocation.number(.iterations) ?? 1
        guard (1...Self.mostIterations).contains(iterations) else {
            throw .usage("--iterations takes a number from 1 to \(Phrases.count(Self.mostIterations))")
        }
        let zones = session.zones
        let local = zones.local()
        (self.local, names) = (local, zones.names(local: local))
        rules = { (try? zones.rules(named: $0)) ?? .utc }
        base = session.screen.now.microseconds
        if let text = invocation.options[.baseTime] {
            let clock = LocalTime { local.offset(at: Int($0)) }
            guard let time = PastTime.parse(text, now: session.screen.now, local: clock) else {
                throw .usage("--base-time takes a time, not “\(text)”", help: PastTime.forms)
            }
            base = time.microseconds
        }
        daylightSaving = .run
        if let text = invocation.options[.daylightSaving] {
            guard let value = DaylightSaving(rawValue: text) else {
                throw .usage("--daylight-saving takes run or skip, not “\(text)”")
            }
            daylightSaving = value
        }
    }
}

/// The answer for one expression.
struct CalendarAnswer {
    var text: String
    /// As it is written in the normal form; `nil` if it is none.
    var normalized: String?
    /// Microseconds since the epoch.
    var elapses: [Int64] = []
    var problem: TextProblem?

    init(_ text: String, _ request: CalendarRequest) {
        self.text = text
        do throws(CalendarExpression.ParseError) {
            let expression = try CalendarExpression(parsing: text, zones: request.names)
            normalized = expression.description
            let rules = expression.zoneName.map(request.rules) ?? request.local
            var base = request.base
            while elapses.count < request.iterations,
                let next = expression.nextElapse(after: base, in: rules, daylightSaving: request.daylightSaving)
            {
                elapses.append(next)
                base = next
            }
        } catch {
            let isCron = (try? CronExpression(parsing: text)) != nil
            problem = TextProblem(
                text: text, sentence: isCron ? "this is a line of crontab(5), which OnCron= takes" : error.description,
                range: isCron ? 0..<text.utf8.count : error.range)
        }
    }

    var json: JSONValue {
        guard let normalized else {
            return .object(["expression": .string(text), "error": .string(problem?.sentence ?? "")])
        }
        return .object([
            "expression": .string(text), "normalized": .string(normalized),
            "elapses": .array(elapses.map { .int($0) }),
        ])
    }
}
