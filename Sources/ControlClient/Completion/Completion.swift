import ControlInterface
import Schedule

/// How a shell completes a word of the command line: an operand of a verb, or the value of an option.
enum Completion: Hashable, Sendable {
    /// These words.
    case words([String])
    /// Names and numbers that the running daemon knows.
    case names(NameKind)
    case files
    /// A program.
    case commands
}

extension Option {
    /// `nil`: nobody but the person knows the value, or there is none.
    var completion: Completion? {
        switch self {
        case .socket: .files
        case .queue: .names(.queues)
        case .handler: .names(.handlers)
        case .state: .words(OperationText.stateNames)
        case .daylightSaving, .priority: .words(value?.split(separator: "|").map(String.init) ?? [])
        case .after: .names(.pending)
        case .at: .words(["tomorrow"])
        case .since, .until: .words(["today", "yesterday"])
        default: nil
        }
    }

    /// Those that stand with another word behind them.
    static let valued = allCases.filter { $0.value != nil }
}

extension Verb {
    /// The completions of each operand, in their order; the last entry is for all that follow where
    /// `repeatsLastOperand`.
    var operandCompletions: [[Completion]] {
        let forms = forms
        let count = forms.map(\.count).max() ?? 0
        return (0..<count).map { place in
            var seen: [Completion] = []
            let words = forms.filter { $0.count > place }.flatMap { $0[place].split(separator: "|").map(String.init) }
            let fixed = words.filter { $0 == $0.lowercased() }
            if !fixed.isEmpty { seen.append(.words(fixed)) }
            for case let one? in words.map(completion) where !seen.contains(one) { seen.append(one) }
            return seen
        }
    }

    var repeatsLastOperand: Bool { operands.contains("…") }

    /// The operands as the help writes them, one by one: `enter NAME | leave NAME TICKET` are two forms.
    private var forms: [[String]] {
        let plain = operands.replacing("…", with: "").replacing("[", with: "").replacing("]", with: "")
        return plain.pieces(between: " | ").map { $0.split(separator: " ").map(String.init) }
    }

    /// The completion for a placeholder of the help.
    private func completion(_ placeholder: String) -> Completion? {
        // `SEMAPHORE:N`: the number is nobody's to know.
        switch placeholder.prefix(while: { $0 != ":" }) {
        case "NAME": .names(names)
        case "ID": .names(ids)
        case "QUEUE": .names(.queues)
        case "GROUP": .names(.groups)
        case "PROCESS": .names(.processes)
        case "SEMAPHORE": .names(.semaphores)
        case "FILE", "PATH": .files
        case "COMMAND": .commands
        case "LEVEL": Option.priority.completion
        case "VERB": .words(Verb.all.map(\.name))
        case "SHELL": .words(Shell.allCases.map(\.rawValue))
        case "KIND": .words(NameKind.allCases.map(\.rawValue))
        default: nil
        }
    }
}

/// A shell that `watchctl completion` knows.
enum Shell: String, CaseIterable {
    case bash, zsh, fish

    /// The script that teaches it to complete `watchctl`.
    var script: String {
        switch self {
        case .bash: BashCompletion.script
        case .zsh: ZshCompletion.script
        case .fish: FishCompletion.script
        }
    }

    /// A text as one word of the shell, whatever is in it; all three take `'…'`.
    func quoted(_ text: String) -> String {
        self == .fish
            ? "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
            : "'" + text.replacing("'", with: "'\\''") + "'"
    }
}
