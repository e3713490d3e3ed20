import Schedule
import WatchFile

/// The properties that an operation of a client's command has instead of a handler.
struct SubmittedCommand: Sendable {
    var definition: SharedDefinition
    /// Wall-clock microsecond before which it is not submitted.
    var notBefore: Int64?

    init(_ fact: CommandFact) {
        definition = SharedDefinition(fact.definition)
        notBefore = fact.notBefore
    }
}

extension Engine {
    /// The definition that an operation starts with next: its handler's, or its own.
    func definition(of ref: OperationRef) -> SharedDefinition {
        if !commands.isEmpty, let command = commands[ref.id] { return command.definition }
        return handlers[operations[ref].handler].definition
    }

    /// The same of one that is not in the table yet, but has its number.
    mutating func takeDefinition(of draft: borrowing Operation) -> SharedDefinition {
        guard draft.handler == commandHandler, case .command(let fact) = draft.entries.newest?.fact else {
            return handlers[draft.handler].definition
        }
        let command = SubmittedCommand(fact)
        commands[draft.id] = command
        return command.definition
    }

    /// The handler of all commands of clients: there from the first one on.
    mutating func needCommandHandler() -> Int {
        if let commandHandler { return commandHandler }
        // An operation without its command, as a damaged store gives one, cannot run.
        let definition = HandlerDefinition(name: CommandFact.handlerName, action: .exec(literally: []))
        let handler = handlers.insert(HandlerState(definition: SharedDefinition(definition)))
        scheduler.define(handler: handler, scheduler.needs(of: definition, crew: nil))
        commandHandler = handler
        return handler
    }

    /// Microseconds until a command may be submitted; `nil`: it may.
    func timeLeft(_ ref: OperationRef) -> Int64? {
        guard !commands.isEmpty, let time = commands[ref.id]?.notBefore, time > now.realtime else { return nil }
        return time - now.realtime
    }
}
