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
    }

    static let names = ["a", "b", "c", "d"]

    private var before: [String: File] = [:]
    private var now: [String: File] = [:]
    private var lastIdentity = 0

    init(_ random: inout SeededGenerator) {
        for name in Self.names where random.chance(50) {
            lastIdentity += 1
            before[name] = File(identity: lastIdentity)
        }
        now = before
    }

    /// Does one thing to it. Returns the changes that a path source would report.
    mutating func change(_ random: inout SeededGenerator) -> [PathFact] {
        let name = random.pick(Self.names)
        guard let file = now[name] else {
            lastIdentity += 1
            now[name] = File(identity: lastIdentity)
            return random.chance(50) ? [fact(.created, name), fact(.written, name)] : [fact(.created, name)]
        }
        switch random.upTo(9) {
        case ..<2:
            now[name] = nil
            return [fact(.deleted, name)]
        case ..<7:
            let target = random.pick(Self.names.filter { $0 != name })
            let hasReplaced = now[target] != nil
            now[target] = file
            now[name] = nil
            return [fact(.renamed, target, from: name, hasReplaced: hasReplaced)]
        default:
            now[name]?.version += 1
            return [fact(random.pick([.written, .modified, .attributes]), name)]
        }
    }

    private func fact(_ change: PathChange, _ name: String, from old: String? = nil, hasReplaced: Bool = false)
        -> PathFact
    {
        PathFact(
            change, path: Array("/w/\(name)".utf8), oldPath: old.map { Array("/w/\($0)".utf8) },
            hasReplaced: hasReplaced)
    }

    /// Which of these facts is not true of what stands there now; `nil`: none. Something may be left out.
    func falsehood(in facts: [PathFact]) -> String? {
        facts.first { (now[name($0.path)] == nil) != ($0.change == .deleted) }.map { "\($0.shown) is not true" }
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
        guard let told else { return before[name] == now[name] ? nil : "nobody tells that it has changed" }
        if told.change == .created, before[name] != nil, left == nil {
            return "told as created, and something stood there"
        }
        if told.change == .renamed {
            let wasThere = before[name] != nil && left == nil
            if told.hasReplaced != wasThere { return "\(told.shown), and wrong about what it replaced" }
        }
        return nil
    }
}
