import JSON
import Schedule
import Varlink

extension Verb {
    static let timespan = Verb(
        name: "timespan", operands: "SPAN…", operandCount: 1...Int.max,
        summary: "what time spans mean, such as “1h 30min”; needs no daemon",
        notes: ["If one is invalid, the status is 1."]
    ) { (invocation, session) throws(Failure) in
        let answers = invocation.operands.map { TimeSpanAnswer(span: $0) }
        if session.isJSON {
            if let text = try? JSON.encode(answers) { session.print(json: text) }
        } else {
            let width = session.screen.width
            session.print(Styled.blocks(answers.map { $0.lines(width: width) }.filter { !$0.isEmpty }))
        }
        let problems = answers.compactMap(\.problem)
        guard !problems.isEmpty else { return .done }
        if session.isJSON { return .failed }
        throw Failure(
            message: problems.count == 1 && answers.count == 1
                ? "this is no time span"
                : "\(problems.count) of \(answers.count) time spans \(problems.count == 1 ? "is" : "are") invalid",
            details: problems.map { $0.text(width: session.screen.width) }, exitCode: .failed)
    }
}

/// The answer for one time span; as JSON without what does not apply.
struct TimeSpanAnswer: Encodable {
    var span: String
    var usec: UInt64?
    var human: String?
    var error: String?
    var problem: TextProblem?

    private enum CodingKeys: CodingKey {
        case span, usec, human, error
    }

    init(span text: String) {
        span = text
        do throws(TimeSpan.ParseError) {
            let span = try TimeSpan(parsing: text)
            usec = span.microseconds
            human = span.description
        } catch {
            self.error = error.description
            problem = TextProblem(text: text, sentence: error.description, range: error.range)
        }
    }

    /// None if it is invalid.
    func lines(width: Int) -> [Styled] {
        guard let usec, let human else { return [] }
        return [("Original", span), ("μs", String(usec)), ("Human", human)].flatMap { title, value in
            CalendarScreen.row(title, Styled(value), titleWidth: 8, width: width)
        }
    }
}
