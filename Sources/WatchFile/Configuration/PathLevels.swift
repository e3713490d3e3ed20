package import Schedule

/// Conditions of `[Path]` that fire while they hold: again at once after a run that changed something, else after
/// `RetrySec=` of the first handler, doubling to its `RetryMaxSec=`.
package struct PathLevels: Equatable, Sendable {
    package enum Condition: Equatable, Sendable {
        /// `PathExists=`
        case exists([UInt8])
        /// `PathExistsGlob=`
        case existsGlob(PathPattern)
        /// `DirectoryNotEmpty=`
        case notEmpty([UInt8])
    }

    package var conditions: [Condition]
    /// The pause after a run that left everything as it was, and the longest.
    package var pause = TimeSpan.seconds(1)
    package var longestPause = TimeSpan.seconds(300)

    package init(_ conditions: [Condition]) { self.conditions = conditions }
}

extension PathLevels.Condition {
    /// Whether a path is what it asks about: one that may exist, or what makes a folder one that is not empty.
    package func isAbout(_ path: [UInt8]) -> Bool {
        switch self {
        case .exists(let own): own == path
        case .existsGlob(let pattern): pattern.matches(path)
        case .notEmpty(let folder): folder == path || Self.folder(of: path).elementsEqual(folder)
        }
    }

    private static func folder(of path: [UInt8]) -> ArraySlice<UInt8> {
        let end = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
        return end == 0 ? path.prefix(1) : path[..<end]
    }

    /// `PathExists=/srv/go`, as the watch file has it.
    package var assignment: String {
        switch self {
        case .exists(let path): "PathExists=\(Printable.text(path))"
        case .existsGlob(let pattern): "PathExistsGlob=\(pattern)"
        case .notEmpty(let folder): "DirectoryNotEmpty=\(Printable.text(folder))"
        }
    }

    /// Without which it cannot be known: what stands before the first glob.
    package var path: [UInt8] {
        switch self {
        case .exists(let path), .notEmpty(let path): path
        case .existsGlob(let pattern): pattern.base
        }
    }
}

extension PathLevels {
    private static let backupNames: Set<String> = ["lost+found", "aquota.user", "aquota.group"]
    private static let backupEndings: Set<String> = [
        "rpmnew", "rpmsave", "rpmorig", "dpkg-old", "dpkg-new", "dpkg-tmp", "dpkg-dist", "dpkg-bak", "dpkg-backup",
        "dpkg-remove", "ucf-new", "ucf-old", "ucf-dist", "swp", "bak", "old", "new",
    ]

    /// `DirectoryNotEmpty=` counts such names as nothing, as `hidden_or_backup_file` of systemd has it.
    package static func isHiddenOrBackup(_ name: [UInt8]) -> Bool {
        if name.first == UInt8(ascii: ".") || name.last == UInt8(ascii: "~") { return true }
        let text = String(decoding: name, as: UTF8.self)
        if backupNames.contains(text) { return true }
        return text.lastIndex(of: ".").map { backupEndings.contains(String(text[text.index(after: $0)...])) } ?? false
    }
}
