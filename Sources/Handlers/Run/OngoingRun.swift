import Engine
import WatchFile

/// A run of the rim, whoever started it. Confined to the core.
protocol OngoingRun: AnyObject {
    /// `thumbnail 4711`.
    var name: String { get }
    /// Why it cannot be started yet.
    var delay: String? { get }
    /// Another run may have given back what this one lacks.
    func tryNow()
    var outputSoFar: RunOutput { get }
    /// From now on nothing of it waits to be started.
    func giveUp()
    /// Sends a signal to the process, or with `tree` to its group.
    func signal(_ number: Int32, _ mode: KillMode)
    /// Puts its descriptors into the service manager's store, and takes them out at its end.
    func keep()
}

/// A run that is started here.
protocol StartedRun: OngoingRun {
    func start()
}

extension RunID {
    /// `thumbnail 4711`; the parts of one operation are told apart.
    func name(of handler: HandlerDefinition) -> String {
        "\(handler.name) \(operation)\(part == 0 ? "" : " part \(part)")"
    }

    /// The fields of its lines in the log.
    func logFields(of handler: HandlerDefinition) -> [(name: String, value: String)] {
        [("WATCHD_HANDLER", handler.name), ("WATCHD_OPERATION", "\(operation)")]
    }
}
