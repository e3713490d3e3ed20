extension ValueReader {
    func signal(_ word: SourceText, _ problems: inout Problems) -> Value.NumberedSignal? {
        guard let number = LinuxSignal.number(word.string) else {
            refuse(&problems, "is not a signal", at: word, suggestion: nearestSignal(to: word.string, problems))
            return nil
        }
        guard number != 32, number != 33 else {
            refuse(&problems, "is refused: the C library uses it itself", at: word)
            return nil
        }
        return Value.NumberedSignal(number: number, text: word)
    }

    private func nearestSignal(to word: String, _ problems: Problems) -> String? {
        let upper = word.uppercased()
        if LinuxSignal.number(upper) != nil { return upper }
        guard word.utf8.first?.isLetter == true else { return nil }
        return problems.nearest(to: upper.hasPrefix("SIG") ? upper : "SIG" + upper, among: LinuxSignal.allNames)
    }

    /// A signal that a source may claim.
    func claimedSignal(_ word: SourceText, _ problems: inout Problems) -> Value.NumberedSignal? {
        guard let signal = signal(word, &problems) else { return nil }
        guard let reason = Self.refusal(of: LinuxSignal.name(signal.number)) else { return signal }
        refuse(&problems, "is refused: \(reason)", at: word)
        return nil
    }

    private static func refusal(of name: String) -> String? {
        switch name {
        case "SIGKILL", "SIGSTOP": "the kernel lets no process see it"
        case "SIGTERM", "SIGINT": "it stops watchd"
        case "SIGCHLD": "it stays at its default, the end of a process is seen by [Process]"
        case "SIGABRT", "SIGILL", "SIGTRAP", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGSYS":
            "it reports a fault of watchd itself"
        case "SIGPIPE": "watchd ignores it, a broken pipe is an error of the write"
        case "SIGPROF": "it belongs to profilers"
        default: nil
        }
    }

    /// Numbers from 0 to 255, names of exit statuses as in `systemd.exec(5)`, and names of signals.
    func exitStatuses(_ problems: inout Problems) -> ExitStatusSet? {
        var set = ExitStatusSet()
        var isValid = true
        for word in text.words {
            let string = word.string
            if word.bytes.allSatisfy(\.isDigit) {
                if let code = UInt8(string) {
                    set.codes.insert(Int32(code))
                } else {
                    refuse(&problems, "is not in 0 to 255", at: word)
                    isValid = false
                }
            } else if let code = Self.exitStatusNames[string] {
                set.codes.insert(code)
            } else if let signal = LinuxSignal.number(string) {
                set.signals.insert(signal)
            } else {
                let names = Self.exitStatusNames.keys.sorted() + LinuxSignal.allNames
                refuse(
                    &problems, "is neither an exit status nor a signal", at: word,
                    suggestion: problems.nearest(to: string, among: names))
                isValid = false
            }
        }
        return isValid ? set : nil
    }

    /// The C library's and LSB's, then those of `sysexits.h`.
    private static let exitStatusNames: [String: Int32] = [
        "SUCCESS": 0, "FAILURE": 1, "INVALIDARGUMENT": 2, "NOTIMPLEMENTED": 3, "NOPERMISSION": 4, "NOTINSTALLED": 5,
        "NOTCONFIGURED": 6, "NOTRUNNING": 7, "USAGE": 64, "DATAERR": 65, "NOINPUT": 66, "NOUSER": 67, "NOHOST": 68,
        "UNAVAILABLE": 69, "SOFTWARE": 70, "OSERR": 71, "OSFILE": 72, "CANTCREAT": 73, "IOERR": 74, "TEMPFAIL": 75,
        "PROTOCOL": 76, "NOPERM": 77, "CONFIG": 78,
    ]
}
