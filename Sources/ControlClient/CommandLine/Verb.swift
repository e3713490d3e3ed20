/// One verb of `watchctl`: how it is written, what it is for, and what it does. Each has a file of its own in `Verbs`.
struct Verb: Sendable {
    var name: String
    /// Its operands, as the help shows them.
    var operands = ""
    var operandCount: ClosedRange<Int> = 0...0
    /// Options and operands in short, where there are too many for one line.
    var brief: String?
    /// Besides those of every verb.
    var options: [Option] = []
    /// Whether the words so far, the verb first, have the first word of a command: nothing that follows is an option.
    var hasCommand: @Sendable ([String], [Option: String]) -> Bool = { _, _ in false }
    /// Whether `--timeout` is for the daemon, not how long its replies may take.
    var hasOwnTimeout: @Sendable ([Option: String]) -> Bool = { _ in false }
    /// Operands from this one on are paths, which may be any bytes.
    var firstPath = Int.max
    /// The kind of names that `NAME` among the operands stands for, and `ID`.
    var names = NameKind.names
    var ids = NameKind.operations
    /// It changes something in the daemon.
    var changes = false
    /// It ends or removes things for good: it is suggested to nobody.
    var destroys = false
    /// One line, starting with a verb.
    var summary: String
    /// Further lines in the help of this verb alone, of at most 120 columns.
    var notes: [String] = []
    var run: @Sendable (Invocation, Session) throws(Failure) -> ExitCode

    /// In the order of the help; the first one is the default.
    static let all: [Verb] = [
        .status, .sources, .timers, .queues, .semaphores, .handlers, .operations, .history, .failed, .show, .output,
        .explain, .follow, .emit, .run, .signal, .acquire, .group, .suspend, .resume, .drain, .priority, .cancel,
        .retry, .forget,
        .wait, .reload,
        .start, .stop, .restart, .check, .cat, .calendar, .timespan, .completion, .complete, .help,
    ]

    /// `emit [--data N] [--payload JSON] NAME`.
    var synopsis: String {
        if let brief { return "\(name) \(brief)" }
        let options = options.map { option in "[\(option.rawValue)\(option.value.map { " " + $0 } ?? "")]" }
        return ([name] + options + (operands.isEmpty ? [] : [operands])).joined(separator: " ")
    }
}
