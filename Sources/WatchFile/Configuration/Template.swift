/// Text with specifiers in it, such as `%p.bak` or `%{folder}`; expanded as a whole, never split into words.
package struct Template: Hashable, Sendable {
    package enum Part: Hashable, Sendable {
        case literal([UInt8])
        case specifier(Specifier)
    }

    package var parts: [Part]

    package init(parts: [Part]) { self.parts = parts }

    package init(literal: String) { parts = literal.isEmpty ? [] : [.literal(Array(literal.utf8))] }

    /// The template's text, each specifier replaced by what `value` gives for it (nothing, where it does not apply).
    package func expanded(_ value: (Specifier) -> [UInt8]) -> [UInt8] {
        if parts.count == 1 {
            switch parts[0] {
            case .literal(let bytes): return bytes
            case .specifier(let specifier): return value(specifier)
            }
        }
        return parts.reduce(into: []) { result, part in
            switch part {
            case .literal(let bytes): result += bytes
            case .specifier(let specifier): result += value(specifier)
            }
        }
    }

    /// It is `%p`, and nothing else.
    package var isPath: Bool {
        guard parts.count == 1, case .specifier(.path) = parts[0] else { return false }
        return true
    }

    package var specifiers: [Specifier] {
        parts.compactMap { if case .specifier(let specifier) = $0 { specifier } else { nil } }
    }
}

/// The meaning of a word behind `%` in a watch file.
package enum Specifier: Hashable, Sendable {
    /// `%p`, `%{path}`.
    case path
    /// `%f`: the path's last component.
    case lastComponent
    /// `%r`: the path below its source's root.
    case relativePath
    /// `%1` … `%9`.
    case capture(Int)
    case source, handler, queue, operation, kind, event, oldPath, folder, line, data, signal, pid, exitStatus, result
    /// Of a completion: why it ended so.
    case reason
    /// Of a completion: the handler that ended. Of a process too: how, in a word or two.
    case ofHandler, outcome
    case unit, unitState
    /// Of a problem.
    case object, problem, action
    case time, scheduled, attempt, count, peer
    /// The name of this machine.
    case host
    /// `%{acquired:NAME}`: the members of a semaphore that the run holds.
    case acquired(String)
}
