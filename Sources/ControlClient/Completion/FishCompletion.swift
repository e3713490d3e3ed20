/// The script for fish.
enum FishCompletion {
    static var script: String {
        """
        # fish completion for watchctl, made by: watchctl completion fish
        # The verb, how many operands stand before the cursor, and the socket that is named.
        function __watchctl_line
            set -l verb
            set -l place 0
            set -l socket
            set -l option
            for word in (commandline -opc)[2..-1]
                if test -n "$option"
                    test $option = --socket; and set socket $word
                    set option
                    continue
                end
                switch $word
                    case \(Option.valued.map(\.rawValue).joined(separator: " "))
                        set option $word
                    case '-*'
                    case '*'
                        if test -z "$verb"
                            set verb $word
                        else
                            set place (math $place + 1)
                        end
                end
            end
            printf '%s\\n' "$verb" $place $socket
        end
        # VERB FIRST LAST: the operand at the cursor is one of these.
        function __watchctl_at
            set -l line (__watchctl_line)
            test "$line[1]" = "$argv[1]"; and test $line[2] -ge $argv[2]; and test $line[2] -le $argv[3]
        end
        function __watchctl_names
            set -l line (__watchctl_line)
            set -l program (commandline -opc)[1]
            if set -q line[3]
                $program --socket $line[3] complete $argv[1] (commandline -ct) 2>/dev/null
            else
                $program complete $argv[1] (commandline -ct) 2>/dev/null
            end
        end
        complete -c watchctl -f
        \(lines.joined(separator: "\n"))

        """
    }

    private static var lines: [String] {
        let global = Option.allCases.filter(Option.global.contains).map { option($0, of: nil) }
        let verbs = Verb.all.map { "complete -c watchctl -n '__watchctl_at \"\" 0 0' -a \($0.name)\(text($0.summary))" }
        return global + verbs + Verb.all.flatMap { verb in operands(verb) + verb.options.map { option($0, of: verb) } }
    }

    private static func operands(_ verb: Verb) -> [String] {
        let places = verb.operandCompletions
        return places.indices.flatMap { place in
            let last = place == places.count - 1 && verb.repeatsLastOperand ? 999 : place
            return places[place].map { completion in
                "complete -c watchctl -n '__watchctl_at \(verb.name) \(place) \(last)' \(argument(completion))"
            }
        }
    }

    private static func option(_ option: Option, of verb: Verb?) -> String {
        let isLong = option.rawValue.hasPrefix("--")
        let name = isLong ? "-l \(option.rawValue.dropFirst(2))" : "-s \(option.rawValue.dropFirst())"
        let condition = verb.map { " -n '__watchctl_at \($0.name) 0 999'" } ?? ""
        let value =
            switch option.completion {
            case _ where option.value == nil: ""
            case nil: " -x"
            case .files: " -r -F"
            case let completion?: " -x \(argument(completion))"
            }
        return "complete -c watchctl\(condition) \(name)\(value)\(text(option.summary))"
    }

    private static func argument(_ completion: Completion) -> String {
        switch completion {
        case .words(let words): "-a \(Shell.fish.quoted(words.joined(separator: " ")))"
        case .names(let kind): "-a '(__watchctl_names \(kind.rawValue))'"
        case .files: "-F"
        case .commands: "-a '(__fish_complete_command)'"
        }
    }

    private static func text(_ summary: String) -> String { " -d \(Shell.fish.quoted(summary))" }
}
