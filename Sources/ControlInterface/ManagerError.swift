package import Varlink

/// The errors of `io.watchd.Manager`, each with what a person needs to act on it.
package enum ManagerError: Error, Hashable, Sendable {
    case noSuchName(name: String, nearest: String?)
    case ambiguousName(name: String, candidates: [String])
    case noSuchOperation(id: Int)
    case invalidWatchFile(diagnostics: [String])
    case queueFull(queue: String, backlog: Int)
    case wouldDeadlock(reason: String)
    case notSuspended(name: String)
    case notCustom(name: String)
    case draining
    case notSupported(what: String)
    /// The last reply of a `Follow` whose client does not read.
    case tooSlow

    /// As it travels.
    package var reply: ErrorReply {
        switch self {
        case .noSuchName(let name, let nearest?):
            Self.make("NoSuchName", ["name": .string(name), "nearest": .string(nearest)])
        case .noSuchName(let name, nil): Self.make("NoSuchName", ["name": .string(name)])
        case .ambiguousName(let name, let candidates):
            Self.make("AmbiguousName", ["name": .string(name), "candidates": .array(candidates.map { .string($0) })])
        case .noSuchOperation(let id): Self.make("NoSuchOperation", ["id": .int(Int64(id))])
        case .invalidWatchFile(let diagnostics):
            Self.make("InvalidWatchFile", ["diagnostics": .array(diagnostics.map { .string($0) })])
        case .queueFull(let queue, let backlog):
            Self.make("QueueFull", ["queue": .string(queue), "backlog": .int(Int64(backlog))])
        case .wouldDeadlock(let reason): Self.make("WouldDeadlock", ["reason": .string(reason)])
        case .notSuspended(let name): Self.make("NotSuspended", ["name": .string(name)])
        case .notCustom(let name): Self.make("NotCustom", ["name": .string(name)])
        case .draining: Self.make("Draining")
        case .notSupported(let what): Self.make("NotSupported", ["what": .string(what)])
        case .tooSlow: Self.make("TooSlow")
        }
    }

    /// - Returns: `nil` for an error of another interface, or one that a newer daemon knows.
    package init?(_ reply: ErrorReply) {
        guard reply.name.hasPrefix(Manager.name + ".") else { return nil }
        let parameters = reply.parameters
        func text(_ name: String) -> String { parameters[name]?.string ?? "" }
        func number(_ name: String) -> Int { parameters[name]?.int.flatMap(Int.init(exactly:)) ?? 0 }
        func texts(_ name: String) -> [String] {
            if case .array(let values) = parameters[name] { values.compactMap(\.string) } else { [] }
        }
        switch reply.name.dropFirst(Manager.name.count + 1) {
        case "NoSuchName": self = .noSuchName(name: text("name"), nearest: parameters["nearest"]?.string)
        case "AmbiguousName": self = .ambiguousName(name: text("name"), candidates: texts("candidates"))
        case "NoSuchOperation": self = .noSuchOperation(id: number("id"))
        case "InvalidWatchFile": self = .invalidWatchFile(diagnostics: texts("diagnostics"))
        case "QueueFull": self = .queueFull(queue: text("queue"), backlog: number("backlog"))
        case "WouldDeadlock": self = .wouldDeadlock(reason: text("reason"))
        case "NotSuspended": self = .notSuspended(name: text("name"))
        case "NotCustom": self = .notCustom(name: text("name"))
        case "Draining": self = .draining
        case "NotSupported": self = .notSupported(what: text("what"))
        case "TooSlow": self = .tooSlow
        default: return nil
        }
    }

    private static func make(_ name: String, _ parameters: [String: JSONValue] = [:]) -> ErrorReply {
        ErrorReply("\(Manager.name).\(name)", parameters)
    }
}
