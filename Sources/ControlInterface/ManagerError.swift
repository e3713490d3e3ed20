import JSON
package import Varlink

/// The errors of `io.watchd.Manager`, each with what a person needs to act on it.
package enum ManagerError: Error, Hashable, Sendable {
    /// `kinds`: what was looked for. `others`: what has this name, but is something else.
    case noSuchName(name: String, nearest: String?, kinds: [String] = [], others: [String] = [])
    case ambiguousName(name: String, candidates: [String])
    case noSuchOperation(id: Int)
    /// `state`: that of an operation that has not ended, or the result of one that has; `retried` (as `successor`) and
    /// `forgotten` are failed ones that have been dealt with.
    case notFailed(id: Int, state: String, successor: Int? = nil)
    /// An operation cannot be cancelled any more: how it ended, and when, as in `OperationSummary`.
    case hasEnded(id: Int, result: String, ended: String)
    /// State that has to be kept safe cannot be written or read now.
    case storeFailing(reason: String)
    case invalidWatchFile(diagnostics: [String])
    /// `bytes`: `BacklogBytes=`, where that is what is used up.
    case queueFull(queue: String, backlog: Int, bytes: Int? = nil)
    /// One sentence for each link, from what is waited for to the caller.
    case wouldDeadlock(chain: [String])
    /// Nobody has entered the group with that ticket. `isEarlier`: this watchd never gave it out; an
    /// earlier one may have.
    case noSuchTicket(group: String, ticket: Int, isEarlier: Bool = false)
    /// A ticket cannot be bound to a process that does not run.
    case noSuchProcess(pid: Int)
    case tooManyTickets(limit: Int)
    /// The condition of a `Wait` has not come about in time.
    case timedOut(what: String, state: String)
    case notSuspended(name: String)
    case notCustom(name: String)
    /// Paths were given to a source that has none in its events.
    case takesNoPaths(name: String)
    /// A handler reads a descriptor that its source hands over, and there is none for a run by hand or again.
    case needsDescriptor(handler: String)
    /// It is no process that watchd starts itself.
    case notSupervised(name: String)
    /// The demand on a process has not come about.
    case notUp(name: String, reason: String)
    case draining
    case notSupported(what: String)
    /// Others may ask for it, and this client may not; `reason` is a sentence.
    case notPermitted(reason: String)
    /// The request cannot be accepted as it is; `reason` is a sentence.
    case refused(reason: String)
    /// The last reply of a `Follow` whose client does not read.
    case tooSlow

    /// As it travels.
    package var reply: ErrorReply {
        switch self {
        case .noSuchName(let name, let nearest, let kinds, let others):
            Self.make(
                "NoSuchName",
                [
                    "name": .string(name), "nearest": nearest.map { .string($0) }, "kinds": Self.list(kinds),
                    "others": Self.list(others),
                ].compactMapValues { $0 })
        case .ambiguousName(let name, let candidates):
            Self.make("AmbiguousName", ["name": .string(name), "candidates": .array(candidates.map { .string($0) })])
        case .noSuchOperation(let id): Self.make("NoSuchOperation", ["id": .int(Int64(id))])
        case .notFailed(let id, let state, let successor):
            Self.make(
                "NotFailed",
                [
                    "id": .int(Int64(id)), "state": .string(state), "successor": successor.map { .int(Int64($0)) },
                ].compactMapValues { $0 })
        case .hasEnded(let id, let result, let ended):
            Self.make("HasEnded", ["id": .int(Int64(id)), "result": .string(result), "ended": .string(ended)])
        case .storeFailing(let reason): Self.make("StoreFailing", ["reason": .string(reason)])
        case .invalidWatchFile(let diagnostics):
            Self.make("InvalidWatchFile", ["diagnostics": .array(diagnostics.map { .string($0) })])
        case .queueFull(let queue, let backlog, let bytes):
            Self.make(
                "QueueFull",
                [
                    "queue": .string(queue), "backlog": .int(Int64(backlog)),
                    "backlog_bytes": bytes.map { .int(Int64($0)) },
                ].compactMapValues { $0 })
        case .wouldDeadlock(let chain): Self.make("WouldDeadlock", ["chain": .array(chain.map { .string($0) })])
        case .noSuchTicket(let group, let ticket, let isEarlier):
            Self.make(
                "NoSuchTicket",
                ["group": .string(group), "ticket": .int(Int64(ticket)), "earlier": .bool(isEarlier)])
        case .noSuchProcess(let pid): Self.make("NoSuchProcess", ["pid": .int(Int64(pid))])
        case .tooManyTickets(let limit): Self.make("TooManyTickets", ["limit": .int(Int64(limit))])
        case .timedOut(let what, let state):
            Self.make("TimedOut", ["what": .string(what), "state": .string(state)])
        case .notSuspended(let name): Self.make("NotSuspended", ["name": .string(name)])
        case .notCustom(let name): Self.make("NotCustom", ["name": .string(name)])
        case .takesNoPaths(let name): Self.make("TakesNoPaths", ["name": .string(name)])
        case .needsDescriptor(let handler): Self.make("NeedsDescriptor", ["handler": .string(handler)])
        case .notSupervised(let name): Self.make("NotSupervised", ["name": .string(name)])
        case .notUp(let name, let reason):
            Self.make("NotUp", ["name": .string(name), "reason": .string(reason)])
        case .draining: Self.make("Draining")
        case .notSupported(let what): Self.make("NotSupported", ["what": .string(what)])
        case .notPermitted(let reason): Self.make("NotPermitted", ["reason": .string(reason)])
        case .refused(let reason): Self.make("Refused", ["reason": .string(reason)])
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
        case "NoSuchName":
            self = .noSuchName(
                name: text("name"), nearest: parameters["nearest"]?.string, kinds: texts("kinds"),
                others: texts("others"))
        case "AmbiguousName": self = .ambiguousName(name: text("name"), candidates: texts("candidates"))
        case "NoSuchOperation": self = .noSuchOperation(id: number("id"))
        case "NotFailed":
            self = .notFailed(
                id: number("id"), state: text("state"), successor: parameters["successor"]?.int.map { Int($0) })
        case "HasEnded": self = .hasEnded(id: number("id"), result: text("result"), ended: text("ended"))
        case "StoreFailing": self = .storeFailing(reason: text("reason"))
        case "InvalidWatchFile": self = .invalidWatchFile(diagnostics: texts("diagnostics"))
        case "QueueFull":
            self = .queueFull(
                queue: text("queue"), backlog: number("backlog"),
                bytes: parameters["backlog_bytes"]?.int.map { Int(clamping: $0) })
        case "WouldDeadlock": self = .wouldDeadlock(chain: texts("chain"))
        case "NoSuchTicket":
            self = .noSuchTicket(
                group: text("group"), ticket: number("ticket"), isEarlier: parameters["earlier"] == .bool(true))
        case "NoSuchProcess": self = .noSuchProcess(pid: number("pid"))
        case "TooManyTickets": self = .tooManyTickets(limit: number("limit"))
        case "TimedOut": self = .timedOut(what: text("what"), state: text("state"))
        case "NotSuspended": self = .notSuspended(name: text("name"))
        case "NotCustom": self = .notCustom(name: text("name"))
        case "TakesNoPaths": self = .takesNoPaths(name: text("name"))
        case "NeedsDescriptor": self = .needsDescriptor(handler: text("handler"))
        case "NotSupervised": self = .notSupervised(name: text("name"))
        case "NotUp": self = .notUp(name: text("name"), reason: text("reason"))
        case "Draining": self = .draining
        case "NotSupported": self = .notSupported(what: text("what"))
        case "NotPermitted": self = .notPermitted(reason: text("reason"))
        case "Refused": self = .refused(reason: text("reason"))
        case "TooSlow": self = .tooSlow
        default: return nil
        }
    }

    /// `nil` for an empty one: it is left out.
    private static func list(_ texts: [String]) -> JSONValue? {
        texts.isEmpty ? nil : .array(texts.map { .string($0) })
    }

    private static func make(_ name: String, _ parameters: [String: JSONValue] = [:]) -> ErrorReply {
        ErrorReply("\(Manager.name).\(name)", parameters)
    }
}
