import SeedKit
import WatchFile

@testable import Engine

/// A tiny folder that tells what happens in it, and judges what was made of that.
///
/// It knows nothing of how changes are merged: it compares what stood there before with what stands there now.
struct VirtualFolder {
    private struct File: Equatable {
        var identity: Int
        var version = 0
        var isFolder = false
    }

    static let names = ["a", "b", "c", "d"]

    private var before: [String: File] = [:]
    private var now: [String: File] = [:]
    private var lastIdentity = 0

    init(_ random: inout SeededGenerator) {
        for name in Self.names where random.chance(50) {
            lastIdentity += 1
            before[name] = File(identity: lastIdentity, isFolder: random.chance(30))
        }
        now = before
    }

    /// Does one thing to it. Returns the changes that a path source would report.
    mutating func change(_ random: inout SeededGenerator) -> [PathFact] {
        let name = random.pick(Self.names)
        guard let file = now[name] else {
            lastIdentity += 1
            let isFolder = random.chance(30)
            now[name] = File(identity: lastIdentity, isFolder: isFolder)
            if isFolder { return [fact(.created, name)] }
            return random.chance(50) ? [fact(.created, name), fact(.written, name)] : [fact(.created, name)]
        }
        switch random.upTo(9) {
        case ..<2:
            defer { now[name] = nil }
            return [fact(.deleted, name)]
        case ..<7:
            return rename(file, name, random.pick(Self.names.filter { $0 != name }))
        default:
            if file.isFolder { return [fact(.attributes, name)] }
            now[name]?.version += 1
            return [fact(random.pick([.written, .modified, .attributes]), name)]
        }
    }

    private mutating func rename(_ file: File, _ name: String, _ target: String) -> [PathFact] {
        var facts: [PathFact] = []
        // A file replaces a file alone; what stands in a folder's way is gone before, an empty folder at once.
        if let old = now[target], old.isFolder || file.isFolder { facts.append(fact(.deleted, target)) }
        let hasReplaced = now[target] != nil && facts.isEmpty
        now[target] = file
        now[name] = nil
        return facts + [fact(.renamed, target, from: name, hasReplaced: hasReplaced)]
    }

    private func fact(_ change: PathChange, _ name: String, from old: String? = nil, hasReplaced: Bool = false)
        -> PathFact
    {
        PathFact(
            change, path: Array("/w/\(name)".utf8), oldPath: old.map { Array("/w/\($0)".utf8) },
            hasReplaced: hasReplaced, isFolder: now[name]?.isFolder ?? false)
    }

    /// Which of these facts is not true of what stands there now; `nil`: none. Something may be left out.
    func falsehood(in facts: [PathFact]) -> String? {
        facts.first { (now[name($0.path)] == nil) != ($0.change == .deleted) }.map { "\($0.shown) is not true" }
    }

    /// Which of these facts tells of a path where nothing stood before, and nothing stands now; `nil`: none.
    func temporary(in facts: [PathFact]) -> String? {
        let told = facts.first { fact in
            [fact.path, fact.oldPath].compactMap { $0.map(name) }.contains { before[$0] == nil && now[$0] == nil }
        }
        return told.map { "\($0.shown) has come and gone" }
    }

    /// The path whose end none of these facts tells; `nil`: there is none.
    func silence(about facts: [PathFact]) -> String? {
        let told = Set(facts.flatMap { [$0.path, $0.oldPath].compactMap { $0.map(name) } })
        return Self.names.first { before[$0] != nil && now[$0] == nil && !told.contains($0) }
            .map { "nobody tells that \($0) is gone" }
    }

    /// What is wrong with `facts` as an account of all that has happened; `nil`: nothing.
    func objection(to facts: [PathFact]) -> String? {
        var at: [String: PathFact] = [:]
        var left: [String: PathFact] = [:]
        for fact in facts {
            if at.updateValue(fact, forKey: name(fact.path)) != nil { return "\(fact.shown): two entries of one path" }
            guard fact.change == .renamed, let oldPath = fact.oldPath else { continue }
            if left.updateValue(fact, forKey: name(oldPath)) != nil {
                return "\(fact.shown): its old path is left twice"
            }
        }
        for name in Self.names {
            if let objection = objection(name, at[name], left[name]) { return "\(name): \(objection)" }
        }
        return nil
    }

    private func name(_ path: [UInt8]) -> String { String(decoding: path.dropFirst("/w/".utf8.count), as: UTF8.self) }

    private func objection(_ name: String, _ told: PathFact?, _ left: PathFact?) -> String? {
        let isGone = told?.change == .deleted || (told == nil && left != nil)
        if let left, before[name] == nil { return "\(left.shown), and nothing stood there" }
        if told?.change == .deleted, before[name] == nil { return "told as deleted, and nothing stood there" }
        if now[name] == nil {
            if let told, told.change != .deleted { return "\(told.shown), and nothing stands there" }
            return isGone || before[name] == nil ? nil : "nobody tells that it is gone"
        }
        if isGone { return "told as gone, and something stands there" }
        let isSameKind = before[name]?.isFolder == now[name]?.isFolder
        guard let told else {
            let isSame = before[name] == now[name] || (isSameKind && now[name]?.isFolder == true)
            return isSame ? nil : "nobody tells that it has changed"
        }
        if told.isFolder != now[name]?.isFolder { return "told as another kind of thing" }
        let stood: PathFact.Before =
            left != nil ? .nothing : before[name].map { $0.isFolder ? .folder : .file } ?? .nothing
        if told.stood != stood { return "\(told.shown), and known as \(told.stood) before" }
        // A folder that has changed places with another one, while it was held back, may be told so.
        if told.change == .created, isSameKind, left == nil, told.before != .folder {
            return "told as created, and something stood there"
        }
        if told.change == .renamed {
            let wasThere = before[name] != nil && left == nil
            if told.hasReplaced != wasThere { return "\(told.shown), and wrong about what it replaced" }
        }
        return nil
    }
}
