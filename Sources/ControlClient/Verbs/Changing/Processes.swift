import ControlInterface

extension Verb {
    static let start = Verb(
        name: "start", operands: "PROCESS…", operandCount: 1...Int.max,
        changes: true, summary: "start supervised processes, and wait until they are up"
    ) { (invocation, session) throws(Failure) in
        try invocation.forEachOperand(.processes, session) { process throws(Failure) in
            try session.show(Start.self, .init(name: process), taking: nil) { lines($0, session.screen) }
        }
        return .done
    }

    static let restart = Verb(
        name: "restart", operands: "PROCESS…", operandCount: 1...Int.max, changes: true, destroys: true,
        summary: "stop and start supervised processes, and wait until they are up"
    ) { (invocation, session) throws(Failure) in
        try invocation.forEachOperand(.processes, session) { process throws(Failure) in
            try session.show(Restart.self, .init(name: process), taking: nil) { lines($0, session.screen) }
        }
        return .done
    }

    /// Stops a supervised process and waits until it is gone.
    static func stop(_ process: String, _ session: Session) throws(Failure) {
        try session.show(StopProcess.self, .init(name: process), taking: nil) { lines($0, session.screen) }
    }

    private static func lines(_ copies: ProcessCopies, _ screen: Screen) -> [Styled] {
        copies.processes.map { copy in
            let who = copies.processes.count > 1 ? "\(copies.name), copy \(copy.copy)" : copies.name
            return Styled("\(who) \(ProcessText.standing(copy, screen))")
        }
    }
}
