/// Users and groups that commands are to run as.
extension Checker {
    /// There are such, now; each mistake is told once, however many handlers have it from their defaults.
    mutating func checkAccounts() {
        guard let isUser = context.isUser, let isGroup = context.isGroup else { return }
        let commands = sources.filter { $0.entries.has("Command") }.map(\.entries)
        var told: Set<SourceLocation> = []
        for section in sections where section.kind == .queue {
            guard let entry = Entries(defaultEntries(.queue), section.entries).entry("Submit"),
                case .group(let name)? = entry.value?.submitters, UInt32(name) == nil, !isGroup(name),
                told.insert(entry.text.location).inserted
            else { continue }
            let start = entry.text.bytes.startIndex + ValueReader.groupPrefix.utf8.count
            tellUnknown(entry.text[start..<entry.text.bytes.endIndex], of: "Submit=group:")
        }
        for entries in handlers.map(\.entries) + commands {
            for key in ["User", "Group", "SupplementaryGroups"] {
                for entry in entries.list(key) {
                    for word in entry.text.words where entry.value?.words.contains(word.string) ?? false {
                        guard UInt32(word.string) == nil, !(key == "User" ? isUser : isGroup)(word.string),
                            told.insert(word.location).inserted
                        else { continue }
                        tellUnknown(word, of: key)
                    }
                }
            }
        }
    }

    private mutating func tellUnknown(_ word: SourceText, of key: String) {
        let isUser = key == "User"
        let names = (isUser ? context.userNames : context.groupNames)?() ?? []
        let prefix = key.hasSuffix(":") ? key : key + "="
        let message = "\(prefix)\(word.shown): there is no such \(isUser ? "user" : "group")"
        let fails = key.hasSuffix(":") ? "nobody is in it" : "its runs fail until there is one"
        let nearest = problems.nearest(to: word.string, among: names)
        if context.refusesUnknownAccounts {
            problems.error(message, at: word, suggestion: nearest)
        } else {
            problems.warning("\(message) now; \(fails)", at: word, suggestion: nearest)
        }
    }
}
