import Schedule

/// What is said about files.
extension Checker {
    /// `nil`: an operation is submitted at once.
    func settle(_ entries: Entries) -> SettleRule? {
        guard let quiet = entries["SettleSec"]?.span, quiet != .zero else { return nil }
        return SettleRule(quiet: quiet, longest: entries["MaxSettleSec"]?.span)
    }

    /// A mode of folders that nobody makes.
    mutating func checkDirectoryModes() {
        for source in sources where source.id.kind == .path {
            let entries = source.entries
            guard let mode = entries.entry("DirectoryMode"), !mode.isDefault, entries["MakeDirectory"]?.flag != true,
                entries.entry("MakeDirectory")?.isUnreadable != true
            else { continue }
            problems.error("DirectoryMode= needs MakeDirectory=yes", at: mode.keyText)
        }
    }

    /// A key is quiet only where there is one, and its events are together.
    mutating func checkSettling() {
        for source in sources where source.id.kind == .path {
            let (quiet, longest) = (source.entries.entry("SettleSec"), source.entries.entry("MaxSettleSec"))
            guard let rule = settle(source.entries), let quiet else {
                if let longest, !longest.isDefault, quiet?.isUnreadable != true {
                    problems.error("MaxSettleSec= needs SettleSec=: how long is quiet?", at: longest.keyText)
                }
                continue
            }
            if source.hasNoKey {
                problems.error(
                    "SettleSec= waits until a key is quiet, and with Key=none there is none: drop Key=none, or write Key=%p",
                    at: quiet.keyText)
            } else if !source.coalesces {
                problems.error(
                    "SettleSec= waits until all events of a key are together, and Coalesce=no keeps them apart",
                    at: quiet.keyText)
            }
            guard let longest, rule.longest < rule.quiet else { continue }
            // The section's own is the one to be changed.
            let place = longest.isDefault ? quiet : longest
            problems.error(
                "MaxSettleSec=\(rule.longest.brief) is shorter than SettleSec=\(rule.quiet.brief)", at: place.text)
        }
    }
}
