/// Warnings about what the machine has not: programs that are missing, and folders whose files nobody watches. Only
/// whoever gave the context can look.
extension Checker {
    mutating func checkPrograms() {
        guard let flaw = context.programFlaw else { return }
        let commands = handlers.flatMap { $0.conditions + $0.commands }
        let others = sources.compactMap { $0.entries["Command"]?.command }
        for command in commands + others {
            guard let program = command.items.first, program.isLiteral,
                !ShellSyntax.isShell(program.text.string)
            else { continue }
            // A name is looked for in a `PATH` that is not known here.
            if !program.prefix.contains(UInt8(ascii: "/")), setsPath { continue }
            if let flaw = flaw(program.prefix) { problems.warning("\(program.text.shown) \(flaw)", at: program.text) }
        }
        checkMail(flaw)
    }

    /// Warns of units where no service manager makes them; once, for it is missing for all.
    mutating func checkServiceManager() {
        let entries = handlers.lazy.filter { $0.runsInUnit && !$0.commands.isEmpty }.compactMap {
            $0.entries.entry("RunIn")
        }
        guard let entry = entries.first, context.lacksServiceManager?() == true else { return }
        problems.warning(
            "RunIn=unit needs systemd, which does not manage this machine: runs of it fail", at: entry.text)
    }

    /// One warning is enough: what is missing is missing for all.
    private mutating func checkMail(_ flaw: (_ program: [UInt8]) -> String?) {
        guard !setsPath, let flaw = flaw(Array("sendmail".utf8)),
            let mail = handlers.lazy.compactMap({ $0.entries.list("Mail").first }).first
        else { return }
        problems.warning(
            "Mail= needs a sendmail, which \(flaw): install a mail-transport-agent, such as postfix, msmtp-mta or dma",
            at: mail.keyText)
    }

    private var setsPath: Bool {
        (sections + Array(defaults.values)).contains { section in
            section.entries.contains { $0.value?.environment.contains { $0.name == "PATH" } ?? false }
        }
    }

    /// Without `Recursive=`, warns of a folder that has no files of its own, but folders with files that no other
    /// `Path=` names.
    mutating func checkSubfolders() {
        guard let filled = context.filledSubfolders else { return }
        let watched = sources.flatMap { $0.entries.list("Path") }.flatMap { $0.value?.paths ?? [] }
        let (plain, globs) = (Set(watched.filter(\.isPlain).map(\.base)), watched.filter { !$0.isPlain })
        for source in sources {
            // Of a change in the folder itself, a folder that comes or goes is one.
            guard case .path(let trigger)? = source.trigger, !trigger.isRecursive,
                trigger.events.isSubset(of: [.written, .modified])
            else { continue }
            for entry in source.entries.list("Path") {
                for path in (entry.value?.paths ?? []).filter(\.isPlain).map(\.base) {
                    let stray = filled(path).filter { name in
                        let folder = path + [UInt8(ascii: "/")] + name.utf8
                        return !plain.contains(folder) && !globs.contains { $0.matches(folder) }
                    }
                    guard !stray.isEmpty else { continue }
                    let shown = stray.prefix(3).joined(separator: ", ") + (stray.count > 3 ? ", …" : "")
                    problems.warning(
                        "Path= watches the files of the folder itself, and none in its folders (\(shown)): "
                            + "say Recursive=yes, or name each in a Path= of its own", at: entry.text)
                }
            }
        }
    }

    /// Warns of what is not there to be watched, unless watchd makes it.
    mutating func checkMissingPaths() {
        guard let isMissing = context.isMissing else { return }
        for source in sources {
            checkTail(source, isMissing)
            guard case .path(let trigger)? = source.trigger, trigger.directoryMode == nil else { continue }
            for entry in ["Path", "PathChanged", "PathModified"].flatMap({ source.entries.list($0) }) {
                let paths = (entry.value?.paths.map(\.base) ?? []) + (entry.value?.path.map { [$0] } ?? [])
                for path in paths where isMissing(path) {
                    problems.warning(
                        "\(String(decoding: path, as: UTF8.self)) does not exist: watchd waits until somebody makes it "
                            + "(MakeDirectory=yes makes a folder)", at: entry.text)
                }
            }
        }
    }

    /// The file may come later, in a folder that is there.
    private mutating func checkTail(_ source: SourceDraft, _ isMissing: ([UInt8]) -> Bool) {
        guard let entry = source.entries.entry("Tail"), let path = entry.value?.path,
            let slash = path.lastIndex(of: UInt8(ascii: "/")), slash > 0, isMissing(Array(path[..<slash]))
        else { return }
        problems.warning(
            "\(String(decoding: path[..<slash], as: UTF8.self)) does not exist: watchd waits until somebody makes it",
            at: entry.text)
    }
}
