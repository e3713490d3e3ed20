import ControlInterface
import Schedule

/// How an operation stands, in a few words.
enum OperationText {
    /// `done`, `FAILED exit 12`, `skipped`; the state of what has not ended.
    static func result(_ operation: OperationSummary) -> Styled {
        guard let result = operation.result else {
            // Its places are taken, and nothing of it runs yet.
            let isStarting = operation.state == .executing && operation.waitingFor != nil
            return isStarting ? Styled("starting", .yellow) : state(operation.state)
        }
        return self.result(
            result, exitStatus: operation.exitStatus, signal: operation.signal, reason: operation.reason)
    }

    /// `4711 backup for 3s (pid 4242), timer/nightly`.
    static func running(_ operation: OperationSummary, _ screen: Screen) -> Styled {
        let pid = operation.pid.map { " (pid \($0))" } ?? ""
        let age = " for \(screen.age(operation.started ?? operation.submitted))"
        return Styled("\(operation.id) \(operation.handler)", .bold) + Styled("\(age)\(pid), \(operation.cause)")
    }

    /// The same without a reason: for where `detail` says it too.
    static func brief(_ operation: OperationSummary) -> Styled {
        var operation = operation
        operation.reason = nil
        return result(operation)
    }

    /// For where nothing else says why: `FAILED exit 9, timed out after 2s`.
    static func whole(_ result: OperationSummary.Result, exitStatus: Int?, reason: String?) -> Styled {
        let isToldByStatus = result == .failed && exitStatus.map { $0 != 0 } ?? false
        let isOfItself = [.cancelled, .skipped, .dropped].contains(result)
        return self.result(result, exitStatus: exitStatus, reason: reason)
            + Styled(isToldByStatus || isOfItself ? reason.map { ", \(short($0))" } ?? "" : "")
    }

    static func result(
        _ result: OperationSummary.Result, exitStatus: Int? = nil, signal: String? = nil, reason: String? = nil
    ) -> Styled {
        switch result {
        case .done: Styled("done", .green)
        case .failed:
            if let signal {
                Styled("FAILED \(signal)", .red)
            } else if let exitStatus, exitStatus != 0 {
                Styled("FAILED exit \(exitStatus)", .red)
            } else {
                Styled(reason.map { "FAILED \(short($0))" } ?? "FAILED", .red)
            }
        case .stopped: Styled("FAILED stopped", .red)
        case .dropped: Styled("dropped", .red)
        case .cancelled, .skipped, .annulled, .superseded: Styled(result.rawValue, .yellow)
        }
    }

    /// For where the cause has a column of its own: `done, redelivered`.
    static func ended(_ operation: OperationSummary) -> Styled {
        let hasRun = operation.result == .done || operation.result == .failed
        return brief(operation) + Styled(operation.redelivered && hasRun ? ", redelivered" : "")
    }

    /// Why it exists, or why it ended as it did, and what came of it.
    static func cause(_ operation: OperationSummary) -> String {
        let hasRun = operation.result == .done || operation.result?.isFailure == true
        // Of commands each is another one.
        let tellsBoth = hasRun || operation.handler == Submit.handlerName
        let why = (tellsBoth ? nil : operation.reason) ?? operation.cause
        let successor = operation.successor.map { " → \($0)" } ?? ""
        return why + successor + (tellsBoth ? operation.reason.map { ", \(short($0))" } ?? "" : "")
    }

    /// A reason for a table: a `PATH` that a command was looked for in is named, and `watchctl show` prints it.
    static func short(_ reason: String) -> String {
        guard let parts = reason.parts(around: " in PATH=") else { return reason }
        let advice = parts.after.parts(around: "; ").map { "; \($0.after)" } ?? ""
        return parts.before + " in PATH" + advice
    }

    static func state(_ state: OperationSummary.State) -> Styled {
        Styled(name(state), state == .executing ? .green : .plain)
    }

    private static func name(_ state: OperationSummary.State) -> String {
        state == .executing ? "running" : state.rawValue
    }

    /// The states, as the tables print them.
    static let stateNames = OperationSummary.State.allCases.map(name)

    /// By the name that tables print, or by the one of the wire.
    static func state(named text: String) -> OperationSummary.State? {
        OperationSummary.State.allCases.first { name($0) == text } ?? OperationSummary.State(rawValue: text)
    }

    /// The obstacle that it waits for, how far it is, or why it ended as it did.
    static func detail(_ operation: OperationSummary, _ screen: Screen) -> String {
        let again = operation.nextAttempt.map { "attempt \(operation.attempt + 1) \(screen.ahead($0))" }
        let parts = operation.parts.map { "\(operation.partsEnded ?? 0) of \($0) parts done" }
        let successor = operation.successor.map { "→ \($0)" }
        return [again ?? operation.waitingFor ?? operation.reason.map(short), parts, successor].compactMap(\.self)
            .joined(separator: ", ")
    }

    /// `1`, and `-` before the first.
    static func attempt(_ operation: OperationSummary) -> String {
        operation.attempt == 0 ? "-" : String(operation.attempt)
    }

    /// From one second on to the nearest second.
    static func took(_ microseconds: Int?) -> String {
        microseconds.map { SpanText.glance(Int64($0) + ($0 < 1_000_000 ? 0 : 500_000)) } ?? "-"
    }
    /// `1.5s of CPU, 12 MB of memory at most, read 4.1 kB, wrote 8.2 kB`; `nil`: nothing is known.
    static func used(_ used: ResourcesUsed) -> String? {
        let parts = [
            used.cpuUsec.map { "\(processorTime($0)) of CPU" },
            used.peakMemoryBytes.map { "\(Phrases.bytes($0)) of memory at most" },
            used.readBytes.map { "read \(Phrases.bytes($0))" }, used.writtenBytes.map { "wrote \(Phrases.bytes($0))" },
        ].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// To the tenth of a second below three.
    static func processorTime(_ microseconds: Int) -> String {
        let time = Int64(microseconds)
        return time < 1_000_000 ? SpanText.glance(time) : SpanText.glance(remaining: time)
    }
}
