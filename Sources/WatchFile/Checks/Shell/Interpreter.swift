/// Where a program finds the code it runs.
struct Interpreter {
    enum Place {
        /// The first plain argument, once one of the option letters has been seen (`sh -e -c TEXT`).
        case operandAfterOption
        /// The argument of an option letter, in the same word or in the next.
        case option
        /// As `option`; where none is given, the first plain argument (`awk TEXT FILE`).
        case optionOrOperand
        /// Every argument (`ssh HOST TEXT…`, `eval`).
        case everything
    }

    var place: Place
    /// Letters of options that bring code.
    var letters = ""
    /// Long options that bring code, without the dashes.
    var longOptions: [String] = []
    /// Letters of options with an argument of another kind, in the same word or in the next.
    var lettersWithArgument = ""
    /// Letters of options that take the rest of their word, if there is one.
    var lettersWithRest = ""
    /// Letters of options that name a file with the program.
    var lettersOfFile = ""
    /// Letters of options after which all words are arguments of the program.
    var finalLetters = ""
    /// Options end at the first plain argument.
    var stopsAtOperand = true
    /// The name is also an everyday word.
    var isAmbiguous = false

    static func named(_ name: String) -> Interpreter? { table[name] }

    static let wrappers: Set<String> = [
        "env", "nice", "timeout", "setsid", "sudo", "doas", "nohup", "stdbuf", "ionice", "chrt", "taskset", "busybox",
        "toybox", "xargs", "find", "flock", "chroot", "unshare", "nsenter", "setpriv", "runuser", "su", "systemd-run",
        "strace", "time", "command", "exec",
    ]

    private static let table: [String: Interpreter] = {
        var table: [String: Interpreter] = [:]
        for (names, interpreter) in families {
            for name in names { table[name] = interpreter }
        }
        return table
    }()

    private static let families: [(names: [String], interpreter: Interpreter)] = [
        (
            ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh"],
            Interpreter(
                place: .operandAfterOption, letters: "c", longOptions: ["command"], lettersWithArgument: "oO")
        ),
        (["python", "pypy"], Interpreter(place: .option, letters: "c", lettersWithArgument: "WXQ", finalLetters: "m")),
        (
            ["perl"],
            Interpreter(place: .option, letters: "eE", lettersWithArgument: "I", lettersWithRest: "MmiFxdDVC")
        ),
        (["ruby"], Interpreter(place: .option, letters: "e", lettersWithArgument: "rICE", lettersWithRest: "FxiKTW")),
        (
            ["node", "nodejs"],
            Interpreter(place: .option, letters: "ep", longOptions: ["eval", "print"], lettersWithArgument: "rC")
        ),
        (["php"], Interpreter(place: .option, letters: "rRBE", lettersWithArgument: "dczt", finalLetters: "f")),
        (["lua"], Interpreter(place: .option, letters: "e", lettersWithArgument: "l")),
        (
            ["env"],
            Interpreter(place: .option, letters: "S", longOptions: ["split-string"], lettersWithArgument: "uC")
        ),
        (
            ["awk", "gawk", "mawk", "nawk"],
            Interpreter(
                place: .optionOrOperand, letters: "e", longOptions: ["source"], lettersWithArgument: "vFil",
                lettersOfFile: "fE", isAmbiguous: true)
        ),
        (
            ["sed"],
            Interpreter(
                place: .optionOrOperand, letters: "e", longOptions: ["expression"], lettersWithArgument: "l",
                lettersWithRest: "i", lettersOfFile: "f", isAmbiguous: true)
        ),
        (
            ["psql", "mysql", "mariadb"],
            Interpreter(
                place: .option, letters: "ce", longOptions: ["command", "execute"], lettersWithRest: "dfhpUPuvDS",
                stopsAtOperand: false, isAmbiguous: true)
        ),
        (
            ["su", "runuser", "flock", "script"],
            Interpreter(
                place: .option, letters: "c", longOptions: ["command", "session-command"], lettersWithRest: "sgGuEw",
                stopsAtOperand: false, isAmbiguous: true)
        ),
        (["expect"], Interpreter(place: .option, letters: "c", stopsAtOperand: false)),
        (["ssh", "eval", "watch", "parallel", "sqlite3"], Interpreter(place: .everything, isAmbiguous: true)),
    ]
}
