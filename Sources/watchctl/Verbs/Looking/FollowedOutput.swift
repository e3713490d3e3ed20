import ControlInterface
import LinuxSystem

/// `watchctl output -f`: what an operation writes, as it writes it.
struct FollowedOutput {
    let id: Int
    /// As it is; else what a terminal would act on is escaped, line by line.
    let isRaw: Bool
    private var attempt = 0
    /// Bytes of this attempt that are printed, or missing.
    private var passed = 0
    /// The beginning of a line, for a terminal.
    private var line: [UInt8] = []

    /// Between two looks (ms).
    private static let pause: Int32 = 250

    init(id: Int, isRaw: Bool) { (self.id, self.isRaw) = (id, isRaw) }

    /// Until the operation has ended, or nobody reads what is printed.
    /// - Returns: the operation, as it was last.
    mutating func print(_ session: Session) throws(Failure) -> OperationDetail {
        while true {
            let operation = try session.reply(GetOperation.self, .init(id: id)).operation
            take(operation, session)
            let isOver = operation.summary.result != nil || operation.withheld == true
            if isOver || Self.hasLostItsReader() {
                flush(session)
                return operation
            }
        }
    }

    /// Waits as well.
    private static func hasLostItsReader() -> Bool {
        guard let events = try? Linux.poll(1, [], timeout: pause) else { return true }
        return !events.isDisjoint(with: [.error, .hangUp, .invalid])
    }

    private mutating func take(_ operation: OperationDetail, _ session: Session) {
        if operation.withheld == true { return session.remark("watchctl: its output is not for you\n") }
        let bytes = OutputScreen(operation: operation, screen: session.screen).bytes
        let total = operation.outputBytes ?? bytes.count
        if operation.summary.attempt != attempt {
            if attempt > 0 {
                flush(session)
                session.remark("watchctl: try \(operation.summary.attempt)\n")
            }
            (attempt, passed) = (operation.summary.attempt, 0)
        }
        let missing = total - passed - bytes.count
        if missing > 0 { session.remark("watchctl: … \(missing) bytes are missing\n") }
        write(bytes.suffix(max(0, total - passed)), session)
        passed = max(passed, total)
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
