/// Which lines of a table of cron have a user before their command, as those of `/etc/crontab` do: nothing in a line
/// says so.
struct CrontabUsers {
    private let isUser: ((String) -> Bool)?
    private let programFlaw: (([UInt8]) -> String?)?
    /// All lines begin their commands with the name of an account, and one of those can be nothing else.
    private var haveAll = false

    init(_ file: SourceFile, _ context: LoadContext) {
        (isUser, programFlaw) = (context.isUser, context.programFlaw)
        var names: [String?] = []
        for range in file.lineRanges {
            let pieces = [SourceText.Piece(start: range.lowerBound, offset: range.lowerBound)]
            let text = SourceText(file: file, bytes: file.bytes[range], pieces: pieces).trimmed
            if let line = CrontabLine(text) { names.append(line.possibleUser) }
        }
        haveAll =
            names.allSatisfy { $0.map(isAccount) ?? false } && names.contains { $0.map { !isProgram($0) } ?? false }
    }

    /// A name that is also that of a program is the command, unless the whole table has users.
    func stands(in line: CrontabLine) -> Bool {
        line.possibleUser.map { isAccount($0) && (haveAll || !isProgram($0)) } ?? false
    }

    private func isAccount(_ word: String) -> Bool {
        if Self.accounts.contains(word) { return true }
        guard let isUser, word.utf8.first?.isLetter ?? false else { return false }
        return TextCheck.isName(Array(word.utf8)[...]) && isUser(word)
    }

    private func isProgram(_ word: String) -> Bool {
        guard let programFlaw else { return Self.programs.contains(word) }
        return programFlaw(Array(word.utf8)) == nil
    }

    /// Accounts of Debian that crontabs name; the crontab may be of another machine.
    private static let accounts: Set<String> = [
        "root", "www-data", "nobody", "daemon", "backup", "mail", "postgres", "mysql", "git",
    ]
    /// The users whose names are names of programs too.
    private static let programs: Set<String> = ["backup", "mail", "mysql", "git", "daemon"]
}
