/// The signals of Linux by name and number, as on x86, ARM and RISC-V (`signal(7)`).
package enum LinuxSignal {
    /// SIGRTMIN of glibc, which keeps 32 and 33 for itself (`nptl(7)`).
    package static let realTimeMinimum: Int32 = 34
    package static let realTimeMaximum: Int32 = 64

    /// `SIGUSR1`, `SIGRTMIN+2`; for a number without a name its digits.
    package static func name(_ number: Int32) -> String {
        switch number {
        case 1...31: "SIG" + names[Int(number) - 1]
        case realTimeMinimum: "SIGRTMIN"
        case realTimeMinimum...realTimeMaximum: "SIGRTMIN+\(number - realTimeMinimum)"
        default: String(number)
        }
    }

    /// Reads `SIGUSR1`, `USR1`, `SIGRTMIN+3`, `RTMIN+3`, `RTMAX-1` and numbers from 1 to 64; `nil` for anything else.
    package static func number(_ text: some StringProtocol) -> Int32? {
        if let number = decimal(text.utf8) { return (1...realTimeMaximum).contains(number) ? number : nil }
        let name = text.hasPrefix("SIG") ? text.dropFirst(3)[...] : text[...]
        if let index = names.firstIndex(where: { $0 == name }) { return Int32(index) + 1 }
        if let number = otherNames[String(name)] { return number }
        return realTime(String(name))
    }

    /// All names, with `SIG`, for suggestions.
    static var allNames: [String] { (1...31).map { name($0) } + ["SIGRTMIN", "SIGRTMAX"] }

    private static func realTime(_ name: String) -> Int32? {
        if name == "RTMIN" { return realTimeMinimum }
        if name == "RTMAX" { return realTimeMaximum }
        let digits = name.utf8.dropFirst("RTMIN+".utf8.count)
        guard let distance = decimal(digits), distance <= realTimeMaximum - realTimeMinimum else { return nil }
        if name.hasPrefix("RTMIN+") { return realTimeMinimum + distance }
        if name.hasPrefix("RTMAX-") { return realTimeMaximum - distance }
        return nil
    }

    /// At most three digits and nothing else.
    private static func decimal(_ digits: some Collection<UInt8>) -> Int32? {
        guard (1...3).contains(digits.count), digits.allSatisfy(\.isDigit) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int32($1 - UInt8(ascii: "0")) }
    }

    private static let names = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM",
        "TERM",
        "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH",
        "IO",
        "PWR", "SYS",
    ]

    private static let otherNames: [String: Int32] = ["IOT": 6, "CLD": 17, "POLL": 29]
}
