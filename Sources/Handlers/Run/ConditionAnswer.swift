import Engine

/// The answer of an `ExecCondition=` by its exit status, as in `systemd.service(5)`.
enum ConditionAnswer: Equatable {
    case holds, doesNotHold, failed

    init(_ exit: Exit) {
        switch exit {
        case .exited(0): self = .holds
        case .exited(1...254): self = .doesNotHold
        case .exited, .signaled: self = .failed
        }
    }
}
