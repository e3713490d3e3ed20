extension Specifier {
    /// As it is written: `%p`, `%{folder}`.
    var spelling: String {
        switch self {
        case .path: "%p"
        case .lastComponent: "%f"
        case .relativePath: "%r"
        case .capture(let number): "%\(number)"
        default: "%{\(Self.byName.first { $0.value == self }?.key ?? "")}"
        }
    }

    /// What only the letter means.
    static let byLetter: [Unicode.Scalar: Specifier] = ["p": .path, "f": .lastComponent, "r": .relativePath]

    /// What stands in braces.
    static let byName: [String: Specifier] = [
        "source": .source, "handler": .handler, "queue": .queue, "operation": .operation, "kind": .kind,
        "event": .event,
        "path": .path, "old_path": .oldPath, "folder": .folder, "line": .line, "data": .data, "signal": .signal,
        "pid": .pid, "exit_status": .exitStatus, "result": .result, "reason": .reason, "time": .time,
        "scheduled": .scheduled,
        "attempt": .attempt, "count": .count, "peer": .peer, "of_handler": .ofHandler, "outcome": .outcome,
        "unit": .unit, "unit_state": .unitState, "host": .host,
    ]

    static let longestName = byName.keys.map(\.utf8.count).max() ?? 0

    /// Text that whoever caused the event chose, or that may name a file: it must never be run as code.
    var isForeignText: Bool {
        switch self {
        case .path, .lastComponent, .relativePath, .capture, .oldPath, .folder, .line, .peer, .reason, .outcome, .unit:
            true
        case .source, .handler, .queue, .operation, .kind, .event, .data, .signal, .pid, .exitStatus, .result, .time,
            .scheduled, .attempt, .count, .ofHandler, .unitState, .host:
            false
        }
    }
}
