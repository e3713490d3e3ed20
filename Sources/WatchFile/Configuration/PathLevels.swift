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

/// An absolute path with globs, as of `glob(7)`: a name that begins with a dot is matched by a dot only.
package struct PathPattern: Hashable, Sendable, CustomStringConvertible {
    package enum Component: Hashable, Sendable {
        case name([UInt8])
        case glob(PathGlob, takesHidden: Bool)
    }

    /// Never empty, but for `/`.
    package let components: [Component]
    /// As a watch file may write it.
    package let description: String

    package init(_ text: [UInt8]) throws(PathGlob.Failure) { try self.init(letters: text.map { .init(byte: $0) }) }

    init(letters: [PathGlob.Letter]) throws(PathGlob.Failure) {
        var components: [Component] = []
        var names: [String] = []
        for part in letters.indices.split(whereSeparator: { letters[$0].byte == UInt8(ascii: "/") }) {
            let name = Array(letters[part])
            if name.map(\.byte).elementsEqual(".".utf8) { continue }
            names.append(name.map(PathGlob.written).joined())
            if name.contains(where: { !$0.isEscaped && "*?[".utf8.contains($0.byte) }) {
                do throws(PathGlob.Failure) {
                    let takesHidden = name.first?.byte == UInt8(ascii: ".")
                    components.append(.glob(try PathGlob(letters: name), takesHidden: takesHidden))
                } catch {
                    throw PathGlob.Failure(reason: error.reason, index: part.lowerBound + error.index)
                }
            } else {
                components.append(.name(name.map(\.byte)))
            }
        }
        self.components = components
        description = "/" + names.joined(separator: "/")
    }

    package func matches(_ path: [UInt8]) -> Bool {
        let names = path.split(separator: UInt8(ascii: "/")).map { Array($0) }
        return names.count == components.count && zip(components, names).allSatisfy { $0.matches($1) }
    }

    /// The part before the first glob.
    package var base: [UInt8] {
        var base: [UInt8] = []
        for component in components {
            guard case .name(let name) = component else { break }
            base += [UInt8(ascii: "/")] + name
        }
        return base.isEmpty ? [UInt8(ascii: "/")] : base
    }
}

extension PathPattern.Component {
    package func matches(_ name: [UInt8]) -> Bool {
        switch self {
        case .name(let own): own == name
        case .glob(let glob, let takesHidden): (takesHidden || name.first != UInt8(ascii: ".")) && glob.matches(name)
        }
    }
}
