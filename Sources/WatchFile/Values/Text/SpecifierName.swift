extension Specifier {
    /// As it is written: `%p`, `%{folder}`.
    var spelling: String {
        switch self {
        case .path: "%p"
        case .lastComponent: "%f"
        case .relativePath: "%r"
        case .capture(let number): "%\(number)"
        case .acquired(let name): "%{\(Self.acquiredPrefix)\(name)}"
        default: "%{\(Self.byName.first { $0.value == self }?.key ?? "")}"
        }
    }

    /// The specifiers of a single letter.
    static let byLetter: [Unicode.Scalar: Specifier] = ["p": .path, "f": .lastComponent, "r": .relativePath]

    /// The specifiers in braces.
    static let byName: [String: Specifier] = [
        "source": .source, "handler": .handler, "queue": .queue, "operation": .operation, "kind": .kind,
        "event": .event,
        "path": .path, "old_path": .oldPath, "folder": .folder, "line": .line, "data": .data, "signal": .signal,
        "pid": .pid, "exit_status": .exitStatus, "result": .result, "reason": .reason, "time": .time,
        "scheduled": .scheduled,
        "attempt": .attempt, "count": .count, "peer": .peer, "of_handler": .ofHandler, "outcome": .outcome,
        "unit": .unit, "unit_state": .unitState, "host": .host, "object": .object, "problem": .problem,
        "action": .action,
    ]

    /// Before the name of a semaphore.
    static let acquiredPrefix = "acquired:"

    /// The specifier of a name in braces; `nil`: that means nothing.
    static func named(_ name: String) -> Specifier? {
        if let found = byName[name] { return found }
        guard name.hasPrefix(acquiredPrefix), name.utf8.count > acquiredPrefix.utf8.count else { return nil }
        return .acquired(String(name.dropFirst(acquiredPrefix.count)))
    }

    static let longestName = acquiredPrefix.utf8.count + 64

    /// The variable of the environment with the same text, of those that must never be run as code; `nil`: none.
    package var foreignVariable: String? {
        switch self {
        case .path: "WATCHD_PATH"
        case .oldPath: "WATCHD_OLD_PATH"
        case .line: "WATCHD_LINE"
        case .peer: "WATCHD_PEER"
        case .reason: "WATCHD_REASON"
        case .outcome: "WATCHD_OUTCOME"
        case .unit: "WATCHD_UNIT"
        case .object: "WATCHD_OBJECT"
        case .problem: "WATCHD_PROBLEM"
        case .action: "WATCHD_ACTION"
        case .lastComponent, .relativePath, .capture, .folder, .source, .handler, .queue, .operation, .kind, .event,
            .data, .signal, .pid, .exitStatus, .result, .time, .scheduled, .attempt, .count, .ofHandler, .unitState,
            .host, .acquired:
            nil
        }
    }

    /// Text that whoever caused the event chose, or that may name a file: it must never be run as code.
    var isForeignText: Bool {
        switch self {
        case .path, .lastComponent, .relativePath, .capture, .oldPath, .folder, .line, .peer, .reason, .outcome, .unit,
            .object, .problem, .action:
            true
        case .source, .handler, .queue, .operation, .kind, .event, .data, .signal, .pid, .exitStatus, .result, .time,
            .scheduled, .attempt, .count, .ofHandler, .unitState, .host, .acquired:
            false
        }
    }
}
