/// `Process=` of a handler: a process that watchd supervises is restarted, or gets a signal.
package struct ProcessAction: Equatable, Sendable {
    /// `ProcessAction=`.
    package enum Verb: Equatable, Sendable {
        /// A running process is ended first; done when all copies are up again.
        case restart
        /// Each copy that runs gets this signal; done at once.
        case signal(Int32)
        /// As `signal`, with SIGHUP or what `ProcessSignal=` says.
        case reload(Int32)

        package static let names = ["restart", "reload", "signal"]

        package var name: String {
            switch self {
            case .restart: "restart"
            case .reload: "reload"
            case .signal: "signal"
            }
        }
    }

    /// Of a `[Process]` with `Command=`.
    package var process: String
    package var verb: Verb

    package init(process: String, verb: Verb = .restart) {
        self.process = process
        self.verb = verb
    }
}
