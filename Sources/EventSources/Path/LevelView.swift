import LinuxSystem
import WatchFile

/// How the conditions of a path source stand: what fulfils them, and where that would change.
struct LevelView: Equatable, Sendable {
    /// A name in a folder; `nil`: each of them.
    struct Place: Hashable, Sendable {
        var folder: [UInt8]
        var name: [UInt8]?
    }

    /// The number of a folder: another one may stand in its place, by a mount, a rename or a link that was switched.
    struct Folder: Equatable, Sendable {
        private let device: UInt64
        private let inode: UInt64

        init(_ status: FileStatus) { (device, inode) = (status.device, status.inode) }
    }

    /// The properties that tell whether a file is still the same.
    struct Stamp: Hashable, Sendable {
        private let device: UInt64
        private let inode: UInt64
        private let size: Int64
        private let modified: Int64
        private let changed: Int64

        init(_ status: FileStatus) {
            (device, inode, size) = (status.device, status.inode, status.size)
            (modified, changed) = (status.modified, status.changed)
        }
    }

    /// Existing paths, and folders that are not empty, in the order of the conditions and of their names.
    private(set) var matches: [[UInt8]] = []
    private(set) var stamps: [[UInt8]: Stamp] = [:]
    private(set) var places: Set<Place> = []
    /// The folders of the places that there are.
    private(set) var folders: [[UInt8]: Folder] = [:]
    /// Why the kernel does not tell of every change there: a sentence.
    private(set) var silence: String?

    /// As many matches of a glob are told at most.
    static let mostMatches = 1000
    private static let slash = UInt8(ascii: "/")

    /// Looks at the file system: not on the core.
    ///
    /// - Throws: where it cannot be known what stands there.
    init(_ conditions: [PathLevels.Condition]) throws(SystemError) {
        for condition in conditions {
            switch condition {
            case .exists(let path):
                try walk(Self.components(path)) { (view, path) throws(SystemError) in try view.add(path) }
            case .existsGlob(let pattern):
                try walk(pattern.components) { (view, path) throws(SystemError) in try view.add(path) }
            case .notEmpty(let path):
                try walk(Self.components(path)) { (view, path) throws(SystemError) in try view.addFolder(path) }
            }
        }
        let paths = Set(places.map(\.folder))
        for path in paths { folders[path] = (try? Linux.stat(path)).map(Folder.init) }
        let names = paths.compactMap { (try? FileSystemType(of: $0))?.silentName }
        silence = names.min().map { "on \($0) the kernel does not tell of every change" }
    }

    func isSame(as other: LevelView?) -> Bool { matches == other?.matches && stamps == other?.stamps }

    private static func components(_ path: [UInt8]) -> [PathPattern.Component] {
        path.split(separator: slash).map { .name(Array($0)) }
    }

    /// From the root down; what is missing on the way is what is waited for.
    private mutating func walk(
        _ components: [PathPattern.Component],
        found: (inout LevelView, [UInt8]) throws(SystemError) -> Void
    ) throws(SystemError) {
        var folders: [[UInt8]] = [[Self.slash]]
        for component in components {
            var next: [[UInt8]] = []
            for folder in folders {
                for name in try names(in: folder, component) {
                    next.append(folder.count == 1 ? folder + name : folder + [Self.slash] + name)
                }
            }
            folders = next
        }
        for path in folders { try found(&self, path) }
    }

    private mutating func names(
        in folder: [UInt8], _ component: PathPattern.Component
    ) throws(SystemError) -> [[UInt8]] {
        switch component {
        case .name(let name):
            places.insert(Place(folder: folder, name: name))
            return [name]
        case .glob:
            guard let entries = try Self.entries(of: folder) else { return [] }
            places.insert(Place(folder: folder))
            return entries.filter { component.matches($0) }.sorted { $0.lexicographicallyPrecedes($1) }
        }
    }

    /// `nil`: it is no folder, or there is none.
    private static func entries(of folder: [UInt8]) throws(SystemError) -> [[UInt8]]? {
        do throws(SystemError) {
            return try Linux.readFolder(folder).map(\.name)
        } catch  where error.errno == .noSuchFile || error.errno == .notFolder {
            return nil
        }
    }

    /// A link that leads nowhere does not exist, as for access(2).
    private mutating func add(_ path: [UInt8]) throws(SystemError) {
        guard let status = try? Linux.stat(path) else { return try awaitEndOfLinks(path) }
        guard matches.count < Self.mostMatches, stamps[path] == nil else { return }
        matches.append(path)
        stamps[path] = Stamp(status)
    }

    /// A link on the way may lead to where nothing stands yet.
    private mutating func awaitEndOfLinks(_ path: [UInt8]) throws(SystemError) {
        for place in LinkWays.places(of: path) { try walk(Self.components(place)) { _, _ in } }
    }

    private mutating func addFolder(_ path: [UInt8]) throws(SystemError) {
        guard let entries = try Self.entries(of: path) else { return try awaitEndOfLinks(path) }
        places.insert(Place(folder: path))
        let counting = entries.filter { !PathLevels.isHiddenOrBackup($0) }
        guard !counting.isEmpty else { return }
        if !matches.contains(path) { matches.append(path) }
        for name in counting {
            let file = path + (path.last == Self.slash ? [] : [Self.slash]) + name
            if let status = try? Linux.lstat(file) { stamps[file] = Stamp(status) }
        }
    }
}
