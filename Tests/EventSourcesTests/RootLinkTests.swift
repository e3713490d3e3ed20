import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// A `Path=` that is a symbolic link, or stands behind one: each is watched where it leads.
@Suite("Links at the root", .ownThread) struct RootLinkTests {
    /// - Parameter path: below the folder.
    private func with(
        _ path: String, isRecursive: Bool, before: String,
        _ body: (Folder, @escaping () -> [String]) throws -> Void
    ) throws {
        try Folder.with { folder in
            try TreeSetup.shell(before, in: folder.path)
            let trigger = PathTrigger(
                paths: [folder[path].pathBytes], events: .changed, isRecursive: isRecursive)
            try Rim.with {
                PathSource($0, trigger, $1)
            } then: { rim, _ in
                try wait(for: "the source to be armed") { rim.condition != nil && rim.condition != .closed }
                try body(folder) {
                    rim.paths.map { fact in
                        let name = String(decoding: fact.path.dropFirst(folder.path.utf8.count + 1), as: UTF8.self)
                        return "\(fact.change) \(name)"
                    }
                }
            }
        }
    }

    private func expect(
        _ last: String, _ told: () -> [String], after before: Int = 0,
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) throws {
        try wait(for: "\(last), not \(told())", sourceLocation: sourceLocation) {
            told().dropFirst(before).contains(last)
        }
    }

    @Test(arguments: [false, true]) func whatIsWrittenToTheFileItLeadsToIsTold(isRecursive: Bool) throws {
        try with("l", isRecursive: isRecursive, before: "mkdir t; echo > t/a; echo > t/b; ln -s t/a l") {
            folder, told in
            for command in ["echo more >> t/a", "echo > t/c; mv t/c t/a", "ln -sfn t/b l", "echo more >> t/b"] {
                let before = told().count
                try TreeSetup.shell(command, in: folder.path)
                try expect("written l", told, after: before)
            }
        }
    }

    /// As Kubernetes gives new versions of its files.
    @Test(arguments: [false, true]) func aLinkOnTheWayThatIsSwitchedIsNews(isRecursive: Bool) throws {
        let before = "mkdir 1 2; echo > 1/k; echo > 2/k; ln -s 1 data; ln -s data/k k"
        try with("k", isRecursive: isRecursive, before: before) { folder, told in
            for command in ["ln -s 2 new; mv -T new data", "echo more >> 2/k"] {
                let before = told().count
                try TreeSetup.shell(command, in: folder.path)
                try expect("written k", told, after: before)
            }
        }
    }

    @Test(arguments: ["l", "l/in"], [false, true])
    func whereALinkLeadsMayGoAndComeAgain(path: String, isRecursive: Bool) throws {
        try with(path, isRecursive: isRecursive, before: "ln -s t l") { folder, told in
            let target = path == "l" ? "t" : "t/in"
            for name in ["a", "b"] {
                try TreeSetup.shell("mkdir -p \(target); echo > \(target)/\(name)", in: folder.path)
                try expect("written \(path)/\(name)", told)
                let before = told().count
                try TreeSetup.shell("echo more >> \(target)/\(name)", in: folder.path)
                try expect("written \(path)/\(name)", told, after: before)
                try TreeSetup.shell("rm -r t", in: folder.path)
                try expect("deleted \(path)/\(name)", told)
            }
        }
    }
}
