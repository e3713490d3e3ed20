import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// A folder `in` that is watched with everything below it, and a folder `out` beside it.
struct TreeSetup {
    let folder: Folder
    let rim: Rim
    let source: QueueBound<any EventSource>
    let events: PathEvents

    static func with(
        _ events: PathEvents = .changed, prune: [String] = [], filter: PathFilter = PathFilter(),
        ignoreFile: String? = nil, follows: Bool = false, polling: PathTrigger.Polling = PathTrigger.Polling(),
        scope: (patterns: [String], isRecursive: Bool)? = nil,
        before: (Folder) throws -> Void = { _ in },
        _ body: (TreeSetup) throws -> Void
    ) throws {
        try Folder.with { folder in
            for name in ["in", "out"] { try folder.makeFolder(name) }
            try before(folder)
            let globs = try prune.map { try PathGlob(Array($0.utf8)) }
            var trigger = PathTrigger(
                paths: [folder["in"].pathBytes], events: events, filter: filter, isRecursive: true,
                prune: PathPrune(globs: globs))
            trigger.polling = polling
            trigger.ignoreFile = ignoreFile.map { Array($0.utf8) }
            trigger.followsLinks = follows
            if let scope {
                trigger.isRecursive = scope.isRecursive
                let scope = try folder.scope(scope.patterns, isRecursive: scope.isRecursive)
                trigger.scopes = [folder["in"].pathBytes: scope]
            }
            try Rim.with {
                PathSource($0, trigger, $1)
            } then: { rim, source in
                try wait(for: "the source to be armed") { rim.condition != nil && rim.condition != .closed }
                try body(TreeSetup(folder: folder, rim: rim, source: source, events: events))
            }
        }
    }

    var hub: InotifyHub { rim.parts.value.environment.inotify }

    /// Runs a shell in the folder `in`.
    func shell(_ text: String, in name: String = "in") throws { try Self.shell(text, in: folder[name]) }

    static func shell(_ text: String, in folder: String) throws {
        let made = try Program.run(["sh", "-ec", text], folder: folder)
        #expect(made.status == .exited(0), "\(text): \(made)")
    }

    /// The facts, by what is below the root; folders end with a slash. But for the marks of `settle`.
    var told: [String] { facts.map { text($0) } }

    /// The engine takes in those that are asked for.
    var facts: [PathFact] {
        rim.paths.filter { events.contains(PathEvents($0.change)) && !below($0.path).hasPrefix("last") }
    }

    func text(_ fact: PathFact) -> String {
        let slash = fact.isFolder ? "/" : ""
        let old = fact.oldPath.map { "\(below($0))\(slash) > " } ?? ""
        return
            "\(fact.change) \(old)\(below(fact.path))\(slash)\(fact.hasReplaced ? "!" : "")\(fact.isRecovered ? "*" : "")"
    }

    func below(_ path: [UInt8]) -> String {
        let root = folder["in"].utf8.count
        return path.count > root ? String(decoding: path[(root + 1)...], as: UTF8.self) : "."
    }

    /// Exactly these are told, in any order.
    func expect(_ expected: [String], sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
        try wait(for: "\(expected.sorted()), not \(told.sorted())", sourceLocation: sourceLocation) {
            told.sorted() == expected.sorted()
        }
        try settle()
        #expect(told.sorted() == expected.sorted(), sourceLocation: sourceLocation)
    }

    /// Waits until everything that has happened is told.
    func settle() throws {
        for number in 1... {
            let name = "last\(number)"
            guard !folder.exists("out/\(name)"), !folder.exists("in/\(name)") else { continue }
            try Self.shell("mkdir -p \(name)/d; echo > \(name)/d/f", in: folder["out"])
            try Linux.rename(folder["out/\(name)"], to: folder["in/\(name)"])
            try wait(for: "the last one") { rim.paths.contains { below($0.path) == "\(name)/d/f" } }
            return
        }
    }
}

extension Folder {
    /// Of patterns below `in`.
    func scope(_ patterns: [String], isRecursive: Bool) throws -> PathScope {
        PathScope(try patterns.map { try PathPattern(self["in/\($0)"].pathBytes) }, isRecursive: isRecursive)
    }
}
