import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Schedule
import Testing
import WatchFile

@testable import EventSources

/// A folder with files, and sources one after the other that share a store.
struct HandledSetup {
    let folder: Folder
    let store = MemorySnapshots()
    var events: PathEvents = .changed
    var initial = PathTrigger.Initial.changed
    var filter = PathFilter()
    var isRecursive = false
    var prune: [String] = []
    var ignoreFile: String?
    var follows = false
    var polls = false
    /// Of `Path=`, below the folder.
    var patterns: [String] = []

    static func with(_ files: [String], _ body: (inout HandledSetup) throws -> Void) throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            for name in files {
                for end in name.indices.filter({ name[$0] == "/" }) where !folder.exists("in/\(name[..<end])") {
                    try folder.makeFolder("in/\(name[..<end])")
                }
                try folder.write("in/\(name)", "old")
            }
            var setup = HandledSetup(folder: folder)
            try body(&setup)
        }
    }

    /// Names in the store, with `?` behind those whose stamp is not trusted; of a tree without its root.
    var stored: [String] { store.names(below: root).filter { $0 != "" && $0 != "?" } }

    var root: [UInt8] { folder["in"].pathBytes }

    var trigger: PathTrigger {
        var trigger = PathTrigger(
            paths: [root], events: events, filter: filter, isRecursive: isRecursive, prune: Self.prune(prune))
        trigger.initial = initial
        trigger.ignoreFile = ignoreFile.map { Array($0.utf8) }
        trigger.followsLinks = follows
        if polls { trigger.polling = PathTrigger.Polling(isAlways: true, interval: .milliseconds(20)) }
        if !patterns.isEmpty { trigger.scopes[root] = try? folder.scope(patterns, isRecursive: isRecursive) }
        return trigger
    }

    static func prune(_ globs: [String]) -> PathPrune {
        PathPrune(globs: globs.compactMap { try? PathGlob(Array($0.utf8)) })
    }

    /// A life of a source.
    func live(isArmed: Bool = true, ownPaths: [[UInt8]] = [], _ body: (HandledLife) throws -> Void) throws {
        let rim = try Rim(snapshots: store, ownPaths: ownPaths)
        let trigger = trigger
        store.nothingIsOpen()
        let source = rim.open { PathSource($0, trigger, $1) }
        defer { rim.core.queue.sync { source.value.close() } }
        if isArmed { try rim.waitUntilArmed() }
        try body(HandledLife(setup: self, rim: rim, source: source))
    }

    /// A first life that handles all that it tells of.
    func begin(_ body: (HandledLife) throws -> Void = { _ in }) throws {
        try live { life in
            try body(life)
            try life.handleAll()
        }
    }

    /// Another life hears of nothing; a change that comes then is told as the first.
    func expectNothing() throws {
        try live { life in
            try life.waitUntilCompared()
            try folder.write("in/last", "")
            try wait(for: "the last one") { life.told == ["written last"] }
            try life.handleAll()
        }
    }
}

struct HandledLife {
    let setup: HandledSetup
    let rim: Rim
    let source: QueueBound<any EventSource>

    /// `written a*`: recovered. What was asked for, below the root; of the root its own name.
    var told: [String] {
        rim.paths.filter { setup.events.contains(PathEvents($0.change)) }.map { fact in
            func name(_ path: [UInt8]) -> String {
                let below = HandledPaths.relative(path, to: setup.root)
                return String(decoding: below.isEmpty ? "in".pathBytes : below, as: UTF8.self)
            }
            let names = [fact.oldPath, fact.path].compactMap(\.self).map(name).joined(separator: " ")
            return "\(fact.change) \(names)\(fact.isRecovered ? "*" : "")"
        }
    }

    func waitUntilCompared() throws {
        try wait(for: "the comparison to be over") { rim.comparisons.last ?? nil == nil }
    }

    /// Everything that was told until now is handled, and looked at again; or only this.
    func handleAll(where isHandled: (PathFact) -> Bool = { _ in true }) throws {
        let moments = rim.inputs.flatMap { input -> [PathMoment] in
            guard case .change(_, let fact, let state) = input, isHandled(fact) else { return [] }
            let old = fact.oldPath.map { PathMoment(root: fact.root, path: $0, state: .nothing) }
            return [old, PathMoment(root: fact.root, path: fact.path, state: state)].compactMap(\.self)
        }
        rim.core.queue.sync {
            setup.store.nothingIsOpen()
            rim.parts.value.environment.handled?.note(SourceID(.path, "test"), moments)
        }
        try wait(for: "it to be written") {
            rim.core.queue.sync { rim.parts.value.environment.handled?.isBehind == false }
        }
    }

    func reopen(_ change: (inout PathTrigger) -> Void) {
        var trigger = setup.trigger
        change(&trigger)
        rim.core.queue.sync { (source.value as? PathSource)?.reopen(trigger) }
    }
}
