import Engine
import LinuxSystem
import ProgramKit
import WatchFile

@testable import EventSources

/// What stands in a tree, below `in`.
struct TreeTruth {
    /// Of a file: nothing else may be there under the same stamp.
    struct State: Equatable {
        var inode: UInt64
        var size: Int64
        var modified: Int64
        var isFolder: Bool
        /// Also where only a link to it came or went.
        var changed: Int64

        func isSame(as other: State?) -> Bool {
            guard let other else { return false }
            return (inode, size, modified, isFolder) == (other.inode, other.size, other.modified, other.isFolder)
        }
    }

    private(set) var states: [String: State] = [:]
    /// Paths of links, and those through links.
    private(set) var behindLinks: Set<String> = []

    init(_ mutator: TreeMutator, _ folder: Folder) {
        for path in mutator.paths() {
            guard let status = try? Linux.lstat(folder["in/\(path)"]) else { continue }
            let isFolder = status.kind == .folder
            states[path] = State(
                inode: status.inode, size: isFolder ? 0 : status.size, modified: isFolder ? 0 : status.modified,
                isFolder: isFolder, changed: status.changed)
        }
    }

    /// Of a folder whose content is not watched nothing is told.
    mutating func keep(_ scope: PathScope, _ folder: Folder) {
        states = states.filter { path, state in
            let full = folder["in/\(state.isFolder ? String(path.dropLast()) : path)"].pathBytes
            return scope.covers(full) && (!state.isFolder || scope.walks(full))
        }
    }

    /// With what links lead to.
    init(followed folder: Folder) {
        let root = folder["in"].pathBytes
        var rest = [""]
        while let next = rest.popLast() {
            var way: LinkWay?
            for entry in (try? Linux.readFolder(folder["in/\(next)"])) ?? [] {
                let path = next + String(decoding: entry.name, as: UTF8.self)
                let full = folder["in/\(path)"].pathBytes
                guard !path.hasPrefix("last"), let own = try? Linux.lstat(full) else { continue }
                let link =
                    own.kind == .symbolicLink ? LinkLook.at(full, below: root, ownPaths: [], &way) : nil
                let status = link?.status ?? own
                let isFolder = status.kind == .folder
                states[isFolder ? path + "/" : path] = State(
                    inode: status.inode, size: isFolder ? 0 : status.size, modified: isFolder ? 0 : status.modified,
                    isFolder: isFolder, changed: status.changed)
                if isFolder { rest.append(path + "/") }
                if link != nil || behindLinks.contains(next) { behindLinks.insert(isFolder ? path + "/" : path) }
            }
        }
    }

    /// What the source knows and does not stand there, or the reverse; `nil`: nothing.
    func unknown(by source: QueueBound<any EventSource>, _ rim: Rim) -> String? {
        let known = rim.on(source) { source in
            var known: Set<String> = []
            ((source as? PathSource)?.roots.first as? TreeRoot)?.tree.visit { entry in
                let path = String(decoding: entry.path, as: UTF8.self)
                if !path.isEmpty, !path.hasPrefix("last") { known.insert(entry.kind == .folder ? path + "/" : path) }
            }
            return known
        }
        return known.symmetricDifference(states.keys).min().map {
            "\($0) is \(known.contains($0) ? "gone" : "unknown")"
        }
    }

    /// A file whose content the source has still to tell of; `nil`: none.
    ///
    /// That takes until nobody has it open for writing any more: a child of another test may have, which inherits it and
    /// has not come to its `execve(2)` yet.
    func untold(by source: QueueBound<any EventSource>, _ rim: Rim) -> String? {
        rim.on(source) { source in
            guard let root = (source as? PathSource)?.roots.first as? TreeRoot else { return "there is no tree" }
            let file = states.first { path, state in
                if state.isFolder { return false }
                guard let stamp = root.tree.entry(at: path.pathBytes)?.stamp, !stamp.isOpen else { return true }
                return (stamp.inode, stamp.size, stamp.modified) != (state.inode, state.size, state.modified)
            }
            return file.map {
                let entry = root.tree.entry(at: $0.key.pathBytes)
                return
                    "the content of \($0.key) was not told: \($0.value), known as \(entry.map { "\($0)" } ?? "nothing")"
            }
        }
    }

    /// What is wrong after these facts, where `before` has become this; `nil`: nothing.
    ///
    /// - Parameters:
    ///   - earlier: paths of changes before `before`, which may be told once more.
    ///   - allowsFleeting: what is gone may be told at a place where it never stood, as the folder above it was moved
    ///     before it was listed.
    func flaw(
        _ facts: [PathFact], since before: TreeTruth, _ mutator: TreeMutator, earlier: Set<String> = [],
        allowsFleeting: Bool = false,
        below: ([UInt8]) -> String
    ) -> String? {
        // The last that was told of each path: whether it is there.
        var last: [String: Bool] = [:]
        for fact in facts {
            let slash = fact.isFolder ? "/" : ""
            let path = below(fact.path) + slash
            if let old = fact.oldPath { last[below(old) + slash] = false }
            last[path] = fact.change != .deleted
        }
        for (path, isThere) in last where isThere != (states[path] != nil) {
            return "\(path) was told to be \(isThere ? "there" : "gone") last"
        }
        for (path, state) in states where !state.isSame(as: before.states[path]) && last[path] != true {
            if state.isFolder, before.states[path]?.isFolder == true { continue }
            return "\(path) was not told"
        }
        for path in before.states.keys where states[path] == nil && last[path] != false {
            return "the end of \(path) was not told"
        }
        for path in last.keys where !mutator.touched.contains(path) && before.states[path] == states[path] {
            if let inode = states[path]?.inode, mutator.linked.contains(inode) { continue }
            if earlier.contains(path) || behindLinks.contains(path) || before.behindLinks.contains(path) { continue }
            if allowsFleeting, states[path] == nil { continue }
            return "\(path) was told, and is unchanged"
        }
        return nil
    }
}
