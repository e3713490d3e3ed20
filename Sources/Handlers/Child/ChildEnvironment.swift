package import Engine
import LinuxSystem
package import WatchFile

/// The environment of a command: a base that is the same everywhere, what its queue and then its handler say, and
/// the event's scalars, each above what is named before it. Nothing of the daemon's own service environment.
package enum ChildEnvironment {
    /// Where commands without a slash are looked for, unless the handler sets its own `PATH`.
    package static let path = Command.searchPath
    /// A longer value is not put into the environment: it is in the message, and one string of 128 KiB is the kernel's
    /// limit (`execve(2)`).
    static let longestValue = 100_000

    /// `NAME=VALUE` each, no name twice. What does not apply to the event, or has a NUL in it, is absent.
    ///
    /// - Parameters:
    ///   - queue: `Environment=` of the queue and its targets; a later one of the same name wins.
    ///   - instance: which watchd it is, so that its processes are found again; they are not where it is empty.
    package static func variables(
        _ context: RunContext, _ definition: HandlerDefinition, queue: [EnvironmentVariable], part: Int = 0,
        instance: String = ""
    ) -> [[UInt8]] {
        var values: [(name: String, value: [UInt8])] = [
            ("PATH", Array(path.utf8)), ("LANG", Linux.environment("LANG") ?? Array("C.UTF-8".utf8)),
        ]
        for variable in queue + definition.environment {
            values.removeAll { $0.name == variable.name }
            values.append((variable.name, variable.value))
        }
        if !instance.isEmpty {
            values += [("WATCHD_INSTANCE", Array(instance.utf8)), ("WATCHD_PART", Array("\(part)".utf8))]
        }
        for (name, specifier) in scalars {
            let value = context.value(specifier)
            let isLine = specifier == .line && context.hasLine
            if (!value.isEmpty || isLine) && value.count <= longestValue && !value.contains(0) {
                values.append((name, value))
            }
        }
        return values.map { Array($0.name.utf8) + [UInt8(ascii: "=")] + $0.value }
    }

    /// What each variable tells.
    static let scalars: [(String, Specifier)] = [
        ("WATCHD_HANDLER", .handler), ("WATCHD_QUEUE", .queue), ("WATCHD_OPERATION", .operation),
        ("WATCHD_ATTEMPT", .attempt), ("WATCHD_SOURCE", .source), ("WATCHD_KIND", .kind), ("WATCHD_EVENT", .event),
        ("WATCHD_COUNT", .count), ("WATCHD_PATH", .path), ("WATCHD_OLD_PATH", .oldPath), ("WATCHD_LINE", .line),
        ("WATCHD_DATA", .data), ("WATCHD_SIGNAL", .signal), ("WATCHD_PID", .pid),
        ("WATCHD_EXIT_STATUS", .exitStatus), ("WATCHD_RESULT", .result), ("WATCHD_REASON", .reason),
        ("WATCHD_TIME", .time),
    ]
}

extension RunContext {
    fileprivate var hasLine: Bool { if case .line = events.last?.fact { true } else { false } }
}
