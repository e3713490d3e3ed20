/// The script for zsh: to be sourced after `compinit`, or to stand as `_watchctl` in a folder of `fpath`.
enum ZshCompletion {
    static var script: String {
        """
        #compdef watchctl
        # zsh completion for watchctl, made by: watchctl completion zsh
        _watchctl_names() {
            local line
            local -a found
            for line in "${(@f)$(command $words[1] $socket complete $1 "$PREFIX" 2>/dev/null)}"; do
                [[ -z $line ]] || found+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
            done
            _describe -t names name found
        }
        _watchctl_words() {
            local -a found
            found=("$@")
            _describe -t words word found
        }
        _watchctl_options() {
            local -a found
            found=("$@")
            _describe -o -t options option found
        }
        _watchctl() {
            local verb='' place=0 i
            local -a socket
            for ((i = 2; i < CURRENT; i++)); do
                case $words[i] in
                --socket) socket=(--socket $words[i+1]); ((i++)) ;;
                \(Option.valued.filter { $0 != .socket }.map(\.rawValue).joined(separator: "|"))) ((i++)) ;;
                -*) ;;
                *) if [[ -z $verb ]]; then verb=$words[i]; else ((place++)); fi ;;
                esac
            done
            case $words[CURRENT-1] in
        \(values.joined(separator: "\n"))
            esac
            if [[ $PREFIX == -* ]]; then
                case $verb in
        \(Verb.all.filter { !$0.options.isEmpty }.map(options).joined(separator: "\n"))
                esac
                \(options(Option.allCases.filter(Option.global.contains)))
                return
            fi
            case $verb:$place in
            :*) _watchctl_words \(Verb.all.map { described($0.name, $0.summary) }.joined(separator: " ")) ;;
        \(Verb.all.flatMap(operands).joined(separator: "\n"))
            esac
        }
        if [[ $funcstack[1] == _watchctl ]]; then _watchctl "$@"; else compdef _watchctl watchctl; fi

        """
    }

    /// The value of an option.
    private static var values: [String] {
        let known = Option.valued.compactMap { option in
            option.completion.map { "    \(option.rawValue)) \(call($0)); return ;;" }
        }
        let others = Option.valued.filter { $0.completion == nil }.map(\.rawValue).joined(separator: "|")
        return known + ["    \(others)) return ;;"]
    }

    private static func options(_ verb: Verb) -> String { "        \(verb.name)) \(options(verb.options)) ;;" }

    private static func options(_ options: [Option]) -> String {
        "_watchctl_options " + options.map { described($0.rawValue, $0.summary) }.joined(separator: " ")
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
        case .words(let words): "_watchctl_words " + words.map(Shell.zsh.quoted).joined(separator: " ")
        case .names(let kind): "_watchctl_names \(kind.rawValue)"
        case .files: "_files"
        case .commands: "_command_names -e"
        }
    }

    /// As `_describe` takes it; no name has a colon.
    private static func described(_ name: String, _ summary: String) -> String {
        Shell.zsh.quoted("\(name):\(summary)")
    }
}
