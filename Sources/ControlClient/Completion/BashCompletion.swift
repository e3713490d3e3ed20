/// The script for bash: needs nothing but bash.
enum BashCompletion {
    static var script: String {
        """
        # bash completion for watchctl, made by: watchctl completion bash
        _watchctl_names() {
            local name _
            while IFS=$'\\t' read -r name _; do
                [[ -z $name ]] || COMPREPLY+=("$name")
            done < <("$program" "${socket[@]}" complete "$1" "$cur" 2>/dev/null)
        }
        _watchctl_words() { COMPREPLY+=($(compgen -W "$1" -- "$cur")); }
        _watchctl_files() {
            local IFS=$'\\n'
            compopt -o filenames 2>/dev/null
            COMPREPLY+=($(compgen -f -- "$cur"))
        }
        _watchctl_commands() {
            local IFS=$'\\n'
            COMPREPLY+=($(compgen -c -- "$cur"))
        }
        _watchctl() {
            local program=$1 cur=${COMP_WORDS[COMP_CWORD]} verb='' place=0 i socket=()
            COMPREPLY=()
            for ((i = 1; i < COMP_CWORD; i++)); do
                case ${COMP_WORDS[i]} in
                --socket) socket=(--socket "${COMP_WORDS[++i]}") ;;
                \(alternatives(Option.valued.filter { $0 != .socket }))) ((i++)) ;;
                -*) ;;
                *) if [[ -z $verb ]]; then verb=${COMP_WORDS[i]}; else ((place++)); fi ;;
                esac
            done
            case ${COMP_WORDS[COMP_CWORD-1]} in
        \(values.joined(separator: "\n"))
            esac
            if [[ $cur == -* ]]; then
                case $verb in
        \(options.joined(separator: "\n"))
                esac
                _watchctl_words '\(global)'
                return
            fi
            case $verb:$place in
            :*) _watchctl_words '\(Verb.all.map(\.name).joined(separator: " "))' ;;
        \(Verb.all.flatMap(operands).joined(separator: "\n"))
            esac
        }
        complete -F _watchctl watchctl

        """
    }

    private static var global: String {
        Option.allCases.filter(Option.global.contains).map(\.rawValue).joined(separator: " ")
    }

    private static func alternatives(_ options: [Option]) -> String {
        options.map(\.rawValue).joined(separator: "|")
    }

    /// The value of an option.
    private static var values: [String] {
        let known = Option.valued.compactMap { option in
            option.completion.map { "    \(option.rawValue)) \(call($0)); return ;;" }
        }
        return known + ["    \(alternatives(Option.valued.filter { $0.completion == nil }))) return ;;"]
    }

    private static var options: [String] {
        Verb.all.filter { !$0.options.isEmpty }.map { verb in
            "        \(verb.name)) \(call(.words(verb.options.map(\.rawValue)))) ;;"
        }
    }

    private static func operands(_ verb: Verb) -> [String] {
        let places = verb.operandCompletions
        return places.indices.filter { !places[$0].isEmpty }.map { place in
            let pattern = place == places.count - 1 && verb.repeatsLastOperand ? "*" : String(place)
            return "    \(verb.name):\(pattern)) \(places[place].map(call).joined(separator: "; ")) ;;"
        }
    }

    private static func call(_ completion: Completion) -> String {
        switch completion {
        case .words(let words): "_watchctl_words \(Shell.bash.quoted(words.joined(separator: " ")))"
        case .names(let kind): "_watchctl_names \(kind.rawValue)"
        case .files: "_watchctl_files"
        case .commands: "_watchctl_commands"
        }
    }
}
