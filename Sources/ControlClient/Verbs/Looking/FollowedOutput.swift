import ControlInterface
import LinuxSystem

/// `watchctl output -f`: what an operation or a process writes, as it writes it.
struct FollowedOutput {
    private var target: GetOutput.Parameters
    /// As it is; else what a terminal would act on is escaped, line by line.
    private let isRaw: Bool
    private let isOfRun: Bool
    /// The last attempt is not the end.
    private let isOneAttempt: Bool
    /// Bytes of this attempt, or of the process, that are printed or missing; `nil`: none has been looked at.
    private var passed: Int?
    /// The daemon was started anew since the last look.
    private var hasReturned = false
    /// The last look has found the output of a run that an earlier watchd had begun.
    private var lackedBeginning = false
    /// The start of the run that was looked at last.
    private var started: String?
    /// The last look has found more: what comes next comes soon, and watchd keeps only the end of it.
    private var isFlowing = false
    /// The beginning of a line, for a terminal.
    private var line: [UInt8] = []

    /// Between two looks (ms).
    private static let pause: Int32 = 250
    private static let shortPause: Int32 = 10

    /// - Parameter isOfRun: it follows a run of the caller from its start: what is missing at its beginning is said;
    ///   else it begins with what is kept.
    init(_ target: GetOutput.Parameters, isRaw: Bool, isOfRun: Bool = false) {
        (self.target, self.isRaw, self.isOfRun) = (target, isRaw, isOfRun)
        passed = isOfRun ? 0 : nil
        isOneAttempt = target.attempt != nil
    }

    /// Until the operation has ended, or nobody reads what is printed.
    mutating func print(_ session: Session) throws(Failure) {
        while true {
            guard let reply = try reply(session) else { continue }
            if let operation = reply.operation {
                (target.id, target.name) = (operation.id, nil)
            } else if reply.process == nil {
                throw Failure(
                    message: OutputScreen(reply: reply, asked: target, screen: session.screen).rawRemark ?? "",
                    exitCode: .failed)
            }
            noteRun(reply, session)
            take(reply, session)
            if goOn(to: reply, session) { continue }
            if reply.operation.map(isOver) == true {
                flush(session)
                return try noteNothing(reply, session)
            }
            if hasLostItsReader() { return flush(session) }
        }
    }

    /// It has ended, and wrote nothing, or has not even started. `Run` says itself how it ended.
    private func noteNothing(_ reply: GetOutput.Reply, _ session: Session) throws(Failure) {
        guard !isOfRun, (passed ?? 0) == 0 else { return }
        let screen = OutputScreen(reply: reply, asked: target, screen: session.screen)
        guard let remark = screen.rawRemark else { return }
        guard screen.isKnown else { throw Failure(message: remark, exitCode: .failed) }
        session.remark("watchctl: \(remark)\n")
    }

    /// `nil`: the daemon has gone, and is back.
    private mutating func reply(_ session: Session) throws(Failure) -> GetOutput.Reply? {
        guard passed != nil else { return try session.reply(GetOutput.self, target) }
        if let reply = try session.replyUnlessGone(GetOutput.self, target) { return reply }
        let name = target.id.map { "operation \($0)" } ?? target.name ?? ""
        let words = name.split(separator: " ").last ?? ""
        _ = try session.waitForReturn(
            of: "the output of \(name)", help: "when it runs again: watchctl output -f \(words)")
        hasReturned = true
        return nil
    }

    /// The operation has ended, or the attempt that was asked for.
    private func isOver(_ operation: OperationSummary) -> Bool {
        operation.result != nil || isOneAttempt && operation.attempt > target.attempt ?? operation.attempt
    }

    /// True: an attempt has ended, and the next one is looked at.
    private mutating func goOn(to reply: GetOutput.Reply, _ session: Session) -> Bool {
        guard let operation = reply.operation, !isOneAttempt else { return false }
        guard let attempt = target.attempt else {
            if operation.attempt > 0 { target.attempt = operation.attempt }
            return false
        }
        guard operation.attempt > attempt else { return false }
        flush(session)
        (target.attempt, passed, started, lackedBeginning) = (attempt + 1, 0, nil, false)
        session.remark("watchctl: attempt \(attempt + 1)\n")
        return true
    }

    /// An attempt may run once more after a restart of watchd, and its output begins anew.
    private mutating func noteRun(_ reply: GetOutput.Reply, _ session: Session) {
        guard let operation = reply.operation, operation.attempt == reply.attempt, let began = operation.started else {
            return
        }
        if let started, started != began {
            flush(session)
            (passed, lackedBeginning) = (0, false)
            session.remark("watchctl: it runs again, from its beginning\n")
        }
        started = began
    }

    /// Waits as well.
    private func hasLostItsReader() -> Bool {
        let pause = isFlowing ? Self.shortPause : Self.pause
        guard let events = try? Linux.poll(1, [], timeout: pause) else { return true }
        return !events.isDisjoint(with: [.error, .hangUp, .invalid])
    }

    private mutating func take(_ reply: GetOutput.Reply, _ session: Session) {
        let bytes = RunText.bytes(reply.output, reply.outputBase64)
        let total = max(reply.outputBytes ?? bytes.count, bytes.count)
        // A daemon that has found the run again counts its bytes anew. Where its socket outlives it, nothing else tells.
        let lacksBeginning = reply.lacksBeginning == true
        if lacksBeginning, hasReturned || !lackedBeginning || total < self.passed ?? 0 { self.passed = nil }
        (hasReturned, lackedBeginning) = (false, lacksBeginning)
        if self.passed == nil, lacksBeginning { session.remark("watchctl: \(RunText.lacksBeginning)\n") }
        let passed = passed ?? total - bytes.count
        let missing = total - passed - bytes.count
        if missing > 0 { session.remark("watchctl: … \(missing) bytes are missing\n") }
        write(bytes.suffix(max(0, total - passed)), session)
        isFlowing = total > passed
        self.passed = max(passed, total)
    }

    private mutating func write(_ bytes: ArraySlice<UInt8>, _ session: Session) {
        if bytes.isEmpty { return }
        if isRaw { return session.writeBytes(Array(bytes)) }
        line += bytes
        guard let end = line.lastIndex(of: UInt8(ascii: "\n")) else { return }
        session.print(Styled.block(String(decoding: line[...end], as: UTF8.self)))
        line.removeSubrange(...end)
    }

    private mutating func flush(_ session: Session) {
        if !line.isEmpty { session.print(Styled.block(String(decoding: line, as: UTF8.self))) }
        line = []
    }
}
