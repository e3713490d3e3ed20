import WatchFile

/// One process of a run; they come one after the other.
enum RunStep {
    /// `ExecCondition=`.
    case condition(Command)
    case command(Command)
    /// `Mail=`: a sendmail that reads the mail.
    case mail(to: [String])

    var command: Command {
        switch self {
        case .condition(let command), .command(let command): command
        case .mail: MailMessage.sender
        }
    }
}

extension HandlerDefinition {
    /// The processes of one run that are watchd's children. The commands of a unit are not.
    var steps: [RunStep] {
        let conditions = conditions.commands.map(RunStep.condition)
        switch action {
        case .exec(let commands): return conditions + (placement == nil ? commands.map(RunStep.command) : [])
        // Of a worker.
        case .stream(let stream): return [.command(stream.command)]
        case .mail(let addresses): return conditions + [.mail(to: addresses)]
        case .log, .emit, .unit, .process, .client: return conditions
        }
    }
}
