package import Engine
package import EventSources
import LinuxSystem
package import WatchFile

/// The environment of a command: a base that is the same everywhere, what its user brings, what its queue and then its
/// handler say, its environment files, and the event's scalars, each above what is named before it. Nothing of the
/// daemon's own service environment but what `PassEnvironment=` names.
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
        _ context: RunContext, _ definition: HandlerDefinition, queue: [EnvironmentVariable],
        _ surroundings: LaunchSurroundings? = nil, part: Int = 0, instance: String = ""
    ) -> [[UInt8]] {
        var texts = base
        texts.reserveCapacity(scalars.count)
        let own = queue + definition.environment
        for variable in (surroundings?.inherited ?? []) + own + (surroundings?.files ?? []) {
            replace(variable.name, variable.value, in: &texts)
        }
        if !instance.isEmpty { texts.append(text("WATCHD_INSTANCE", Array(instance.utf8))) }
        texts.append(text("WATCHD_PART", Array("\(part)".utf8)))
        for (beginning, specifier) in beginnings {
            let value = context.value(specifier)
            let applies = !value.isEmpty || specifier.isLine && context.hasLine
            if applies && value.count <= longestValue && !value.contains(0) { texts.append(beginning + value) }
        }
        for acquired in context.acquired {
            texts.append(text(SemaphoreDefinition.variable(acquired.semaphore), Array(acquired.text.utf8)))
        }
        if let trace = context.trace { replace(TraceContext.variable, Array(trace.header.utf8), in: &texts) }
        if let (address, port) = context.remote {
            replace("REMOTE_ADDR", Array(address), in: &texts)
            replace("REMOTE_PORT", Array(port), in: &texts)
        }
        return texts
    }

    private static let base = [
        text("PATH", Array(path.utf8)), text("LANG", Linux.environment("LANG") ?? Array("C.UTF-8".utf8)),
    ]

    /// Of `scalars`.
    private static let beginnings = scalars.map { (beginning($0), $1) }

    private static func text(_ name: String, _ value: [UInt8]) -> [UInt8] { beginning(name) + value }

    private static func beginning(_ name: String) -> [UInt8] { Array("\(name)=".utf8) }

    private static func replace(_ name: String, _ value: [UInt8], in texts: inout [[UInt8]]) {
        let beginning = beginning(name)
        texts.removeAll { $0.starts(with: beginning) }
        texts.append(beginning + value)
    }

    /// Of a worker, which runs before there is an operation. `WATCHD_WORKER` is the number of its run, by which a later
    /// watchd knows it.
    static func ofWorker(_ variables: [[UInt8]], _ handler: String, _ run: RunID, isAcknowledged: Bool) -> [[UInt8]] {
        let foreign = ["WATCHD_OPERATION=", "WATCHD_ATTEMPT=", "WATCHD_SOURCE="]
        let own =
            ["WATCHD_HANDLER=\(handler)", "WATCHD_WORKER=\(run.operation)"]
            + (isAcknowledged ? ["WATCHD_ACK_FD=\(answerDescriptor)"] : [])
        return variables.filter { variable in !foreign.contains { variable.starts(with: $0.utf8) } }
            + own.map { Array($0.utf8) }
    }

    /// The worker's descriptor for answers.
    static let answerDescriptor = 3

    /// The specifier behind each variable.
    static let scalars: [(String, Specifier)] = [
        ("WATCHD_HANDLER", .handler), ("WATCHD_QUEUE", .queue), ("WATCHD_OPERATION", .operation),
        ("WATCHD_ATTEMPT", .attempt), ("WATCHD_SOURCE", .source), ("WATCHD_KIND", .kind), ("WATCHD_EVENT", .event),
        ("WATCHD_COUNT", .count), ("WATCHD_PATH", .path), ("WATCHD_OLD_PATH", .oldPath), ("WATCHD_LINE", .line),
        ("WATCHD_DATA", .data), ("WATCHD_SIGNAL", .signal), ("WATCHD_PID", .pid),
        ("WATCHD_EXIT_STATUS", .exitStatus), ("WATCHD_RESULT", .result), ("WATCHD_REASON", .reason),
        ("WATCHD_OUTCOME", .outcome), ("WATCHD_OF_HANDLER", .ofHandler), ("WATCHD_UNIT", .unit),
        ("WATCHD_UNIT_STATE", .unitState), ("WATCHD_PEER", .peer), ("WATCHD_OBJECT", .object),
        ("WATCHD_PROBLEM", .problem), ("WATCHD_ACTION", .action), ("WATCHD_HOST", .host), ("WATCHD_TIME", .time),
    ]
}

extension RunContext {
    /// The client that connected over IP, as `systemd.socket(5)` tells it.
    fileprivate var remote: (address: Substring.UTF8View, port: Substring.UTF8View)? {
        guard case .line(let fact) = events.last?.fact, fact.form == .connection, let peer = fact.peer,
            let colon = peer.lastIndex(of: ":")
        else { return nil }
        let address = peer[..<colon].drop { $0 == "[" }.prefix { $0 != "]" }
        return (address.utf8, peer[colon...].dropFirst().utf8)
    }

    fileprivate var hasLine: Bool {
        if case .line(let fact) = events.last?.fact { fact.handover == nil } else { false }
    }
}

extension Specifier {
    fileprivate var isLine: Bool { if case .line = self { true } else { false } }
}
