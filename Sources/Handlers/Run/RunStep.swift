import WatchFile

/// One process of a run; they come one after the other.
enum RunStep {
    /// `ExecCondition=`.
    case condition(Command)
    case command(Command)

    var command: Command {
        switch self {
        case .condition(let command), .command(let command): command
        }
    }
}

extension HandlerDefinition {
    /// The processes of one run.
    var steps: [RunStep] {
        let conditions = conditions.commands.map(RunStep.condition)
        guard case .exec(let commands) = action else { return conditions }
        return conditions + commands.map(RunStep.command)
    }
}
