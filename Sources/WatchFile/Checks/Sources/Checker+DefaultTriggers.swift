/// Sections of defaults that say when something happens.
extension Checker {
    private static let triggers: [(kind: SectionKind, keys: Set<String>)] = [
        (.timer, ["OnCalendar", "OnCron", "EverySec", "AfterSec", "OnStartupSec", "OnBootSec"]),
        (.path, ["Path", "PathExists", "PathExistsGlob", "PathChanged", "PathModified", "DirectoryNotEmpty"]),
    ]

    /// Unit files have `[Timer]` and `[Path]` without a name: one that was taken over would change all others.
    mutating func checkDefaultTriggers() {
        for (kind, keys) in Self.triggers {
            guard let entry = defaultEntries(kind).first(where: { keys.contains($0.key.name) && !$0.isClearing })
            else { continue }
            problems.warning(
                "[\(kind.rawValue)] without a name holds defaults: this \(entry.key.name)= counts for each "
                    + "[\(kind.rawValue) NAME]; one of its own needs a name", at: entry.keyText)
        }
    }
}
