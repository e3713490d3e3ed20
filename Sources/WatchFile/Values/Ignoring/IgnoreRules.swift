/// The ignore files of a tree, and what they say together: the last pattern that matches decides, of the deepest file
/// that has one, and what is in an ignored folder is ignored.
package struct IgnoreRules: Equatable, Sendable {
    /// Steps of matching for one path in one file; beyond, that file does not ignore the path.
    package static let maximumSteps = 500_000

    /// The pattern that decides about a path.
    package struct Ruling: Equatable, Sendable {
        /// That of the ignore file, below the root.
        package var folder: [UInt8]
        /// `nil`: the patterns there take more steps than there may be.
        package var pattern: IgnorePattern?

        package var isIgnored: Bool { pattern.map { !$0.isNegated } ?? false }
    }

    /// Of the files.
    package let name: [UInt8]
    /// By the folder they stand in, below the root; that of the root is empty.
    package private(set) var files: [[UInt8]: IgnoreFile] = [:]
    private static let slash = UInt8(ascii: "/")

    package init(name: [UInt8]) { self.name = name }

    package var isEmpty: Bool { files.isEmpty }

    package subscript(folder: [UInt8]) -> IgnoreFile? {
        get { files[folder] }
        set { files[folder] = newValue?.patterns.isEmpty == true ? nil : newValue }
    }

    /// - Parameters:
    ///   - path: below the root; the root itself is not ignored.
    ///   - isFolder: it is a folder, and no link to one.
    /// - Returns: the ruling of a path whose folders are not ignored; `nil`: no pattern matches.
    package func ruling(on path: [UInt8], isFolder: Bool) -> Ruling? {
        if files.isEmpty || path.isEmpty { return nil }
        for folder in folders(above: path) {
            guard let file = files[folder] else { continue }
            var steps = Self.maximumSteps
            let below = path[(folder.isEmpty ? 0 : folder.count + 1)...]
            if let pattern = file.pattern(for: below, isFolder: isFolder, steps: &steps) {
                return Ruling(folder: folder, pattern: pattern)
            }
            if steps <= 0 { return Ruling(folder: folder) }
        }
        return nil
    }

    /// Those with an ignore file perhaps, the deepest first.
    private func folders(above path: [UInt8]) -> [[UInt8]] {
        if files.count < 8 {
            return files.keys.filter {
                $0.isEmpty || (path.count > $0.count && path[$0.count] == Self.slash && path.starts(with: $0))
            }
            .sorted { $0.count > $1.count }
        }
        return path.indices.reversed().filter { path[$0] == Self.slash }.map { Array(path[..<$0]) } + [[]]
    }

    package func ignores(_ path: [UInt8], isFolder: Bool) -> Bool {
        ruling(on: path, isFolder: isFolder)?.isIgnored ?? false
    }

    /// Of any path: the first ignored folder that it goes through decides.
    ///
    /// - Returns: `path`: what the ruling is about.
    package func firstRuling(on path: [UInt8], isFolder: Bool) -> (path: [UInt8], ruling: Ruling)? {
        if let folder = ignoredFolder(of: path) { return folder }
        return ruling(on: path, isFolder: isFolder).map { (path, $0) }
    }

    /// The first ignored folder that a path goes through.
    package func ignoredFolder(of path: [UInt8]) -> (path: [UInt8], ruling: Ruling)? {
        if files.isEmpty { return nil }
        for end in path.indices where path[end] == Self.slash {
            let folder = Array(path[..<end])
            if let ruling = ruling(on: folder, isFolder: true), ruling.isIgnored { return (folder, ruling) }
        }
        return nil
    }

    // MARK: Changing

    /// Nothing stands at a path any more, or something else.
    package mutating func remove(below folder: [UInt8]) {
        if files.isEmpty { return }
        for key in files.keys where Self.isAtOrBelow(key, folder) { files[key] = nil }
    }

    /// A folder has another path too.
    package mutating func copy(_ folder: [UInt8], to other: [UInt8]) {
        for (key, file) in files where Self.isAtOrBelow(key, folder) {
            files[other + key.dropFirst(folder.count)] = file
        }
    }

    /// Two folders stand in each other's place.
    package mutating func exchange(_ one: [UInt8], _ other: [UInt8]) {
        let old = self
        remove(below: one)
        remove(below: other)
        for (from, to) in [(one, other), (other, one)] {
            for (key, file) in old.files where Self.isAtOrBelow(key, from) {
                files[to + key.dropFirst(from.count)] = file
            }
        }
    }

    /// - Parameter folder: empty: the root.
    package static func isAtOrBelow(_ path: [UInt8], _ folder: [UInt8]) -> Bool {
        folder.isEmpty || (path.starts(with: folder) && (path.count == folder.count || path[folder.count] == slash))
    }
}
