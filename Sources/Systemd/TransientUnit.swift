/// A unit that has no file of its own: made, asked and ended over the bus (`org.freedesktop.systemd1(5)`).
extension UnitClient {
    /// A property to be set, by the name that it has on the bus.
    package struct Setting: Equatable, Sendable {
        package var name: String
        package var value: BusValue

        package init(_ name: String, _ value: BusValue) { (self.name, self.value) = (name, value) }
    }

    /// A property of a service that can be asked for.
    package enum Question: String, CaseIterable, Sendable {
        // Of every unit.
        case activeState = "ActiveState"
        case subState = "SubState"
        case loadState = "LoadState"
        /// Number of the job that waits or runs; 0: there is none.
        case job = "Job"
        case invocation = "InvocationID"
        /// When it has become active; 0: never.
        case activeEnter = "ActiveEnterTimestampMonotonic"
        // Of services.
        case result = "Result"
        /// The process that runs, or ran last.
        case processID = "ExecMainPID"
        /// `si_code` of `waitid(2)`; 0: it has not ended.
        case exitCode = "ExecMainCode"
        case exitStatus = "ExecMainStatus"
        /// By the wall clock; 0: it has not ended.
        case exitTime = "ExecMainExitTimestamp"
        case processorTime = "CPUUsageNSec"
        case peakMemory = "MemoryPeak"
        case bytesRead = "IOReadBytes"
        case bytesWritten = "IOWriteBytes"

        fileprivate var isOfEveryUnit: Bool {
            switch self {
            case .activeState, .subState, .loadState, .job, .invocation, .activeEnter: true
            default: false
            }
        }

        fileprivate var type: String {
            switch self {
            case .activeState, .subState, .loadState, .result: "s"
            case .invocation: "ay"
            case .job: "(uo)"
            case .processID: "u"
            case .exitCode, .exitStatus: "i"
            default: "t"
            }
        }
    }

    /// The answers; what an older manager does not have is missing.
    package struct Answers: Equatable, Sendable {
        package var texts: [Question: String] = [:]
        package var numbers: [Question: UInt64] = [:]

        package init() {}

        package func text(_ question: Question) -> String { texts[question] ?? "" }
        /// `nil`: not known, which the manager says with the largest number.
        package func number(_ question: Question) -> UInt64? { numbers[question].flatMap { $0 == .max ? nil : $0 } }
    }

    /// The outcome of a look at a unit.
    package enum Look {
        case answers(Answers)
        case refused(String)
        /// The manager does not answer now. A sentence.
        case unanswered(String)
    }

    /// Makes a unit and starts it, when the bus has room for the question.
    ///
    /// - Parameters:
    ///   - settings: asked for then; their descriptors may be closed when `sent` is called. `nil`: it is not wanted any
    ///     more, and nothing else is called.
    package func startTransient(
        _ unit: String, _ settings: @escaping () -> [Setting]?, sent: @escaping () -> Void,
        _ done: @escaping (Start) -> Void
    ) {
        line.enter { [weak self] finished in
            guard let self, let settings = settings() else { return finished() }
            let properties = settings.map { BusValue.structure([.string($0.name), .variant($0.value)]) }
            let arguments: [BusValue] = [
                .string(unit), .string("fail"), .array("(sv)", properties), .array("(sa(sv))", []),
            ]
            call("StartTransientUnit", arguments) { reply in
                done(Start(reply))
                finished()
            }
            sent()
        }
    }

    /// Asks for properties of a service, in this order.
    package func ask(_ questions: [Question], of unit: String, _ done: @escaping (Look) -> Void) {
        line.enter { [weak self] finished in
            self?.ask(questions[...], of: unit, Answers(), "") { look in
                done(look)
                finished()
            }
        }
    }

    /// One behind the other.
    private func ask(
        _ questions: ArraySlice<Question>, of unit: String, _ answers: Answers, _ failure: String,
        _ done: @escaping (Look) -> Void
    ) {
        guard let question = questions.first else {
            let isAnswered = !answers.texts.isEmpty || !answers.numbers.isEmpty
            return done(isAnswered ? .answers(answers) : .refused(failure))
        }
        let interface = question.isOfEveryUnit ? "Unit" : "Service"
        property(question.rawValue, of: unit, interface) { [weak self] reply in
            var (answers, failure) = (answers, failure)
            switch reply {
            case .failure(let reason): failure = reason
            // Some of the answers say less than none: what is missing would count as what an older manager has not.
            case .silence(let reason): return done(.unanswered(reason))
            case .message(let message): Self.read(question, message, into: &answers)
            }
            self?.ask(questions.dropFirst(), of: unit, answers, failure, done)
        }
    }

    private static func read(_ question: Question, _ message: BusMessage, into answers: inout Answers) {
        switch question.type {
        case "s":
            answers.texts[question] = try? message.inside(BusType.variant, "s") { () throws(BusMessage.Unexpected) in
                try message.string()
            }
        case "ay":
            answers.texts[question] = identifier(message)
        case "(uo)":
            answers.numbers[question] = try? message.inside(BusType.variant, "(uo)") {
                () throws(BusMessage.Unexpected) in
                try message.inside(BusType.structure, "uo") { () throws(BusMessage.Unexpected) in
                    let number = UInt64(try message.number(UInt32(0), "u"))
                    try message.skip("o")
                    return number
                }
            }
        case "u":
            answers.numbers[question] = try? message.inside(BusType.variant, "u") {
                () throws(BusMessage.Unexpected) in UInt64(try message.number(UInt32(0), "u"))
            }
        case "i":
            answers.numbers[question] = try? message.inside(BusType.variant, "i") {
                () throws(BusMessage.Unexpected) in UInt64(clamping: try message.number(Int32(0), "i"))
            }
        default:
            answers.numbers[question] = try? message.inside(BusType.variant, "t") {
                () throws(BusMessage.Unexpected) in try message.unsigned()
            }
        }
    }

    /// Sends a signal to the first process of a unit, or to all of them. `done` is told whether the manager has
    /// answered; it is not called where the connection ends before.
    package func kill(
        _ unit: String, all: Bool, signal: Int32, _ done: @escaping (_ isAnswered: Bool) -> Void = { _ in }
    ) {
        callInLine("KillUnit", [.string(unit), .string(all ? "all" : "main"), .int32(signal)]) { reply in
            if case .silence = reply { done(false) } else { done(true) }
        }
    }

    /// Keeps the manager from forgetting a unit that has ended, as long as this connection lasts.
    package func hold(_ unit: String) { callInLine("RefUnit", [.string(unit)]) { _ in } }

    /// Ends what `hold` has begun.
    package func release(_ unit: String) { callInLine("UnrefUnit", [.string(unit)]) { _ in } }

    /// The manager may forget a unit that has ended, and that it has failed. It asks the bus who wants that, so the
    /// connection has to last until it is done.
    package func forget(_ unit: String, _ done: @escaping () -> Void) {
        callInLine("ResetFailedUnit", [.string(unit)]) { [weak self] _ in
            self?.callInLine("UnrefUnit", [.string(unit)]) { _ in done() }
        }
    }
}
