import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// `Include=` and `Exclude=` of a path source.
@Suite("Filters of paths", .ownThread) struct PathFilterTests {
    private func with(
        _ events: PathEvents, include: [String] = [], exclude: [String] = [],
        _ body: (Folder, () -> [String]) throws -> Void
    ) throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            for name in ["in/a.jpg", "in/b.tmp"] { try folder.write(name, name) }
            func globs(_ texts: [String]) throws -> [PathGlob] { try texts.map { try PathGlob($0.pathBytes) } }
            let trigger = PathTrigger(
                paths: [folder["in"].pathBytes], events: events,
                filter: PathFilter(include: try globs(include), exclude: try globs(exclude)))
            try Rim.with {
                PathSource($0, trigger, $1)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                try body(folder) {
                    rim.paths.map { fact in
                        func name(_ path: [UInt8]) -> String {
                            String(decoding: path.dropFirst(folder["in/"].utf8.count), as: UTF8.self)
                        }
                        let old = fact.oldPath.map { "\(name($0))>" } ?? ""
                        return "\(fact.change) \(old)\(name(fact.path))\(fact.before == .nothing ? " new" : "")"
                    }
                }
            }
        }
    }

    @Test func onlyWhatIsIncludedAndNotExcludedIsTold() throws {
        try with(.written, include: ["*.jpg", "*.png"], exclude: ["x*"]) { folder, told in
            for name in ["a.txt", "x.jpg", "b.png", "c.jpg"] { try folder.write("in/\(name)", "") }
            try wait(for: "the last") { told().last == "written c.jpg new" }
            #expect(told() == ["written b.png new", "written c.jpg new"])
        }
    }

    @Test(arguments: [
        ("in/b.tmp", "in/b.jpg", ["written b.jpg new"]), ("in/b.tmp", "in/a.jpg", ["written a.jpg"]),
        ("in/a.jpg", "in/a.tmp", ["deleted a.jpg"]), ("in/a.jpg", "in/c.jpg", ["renamed a.jpg>c.jpg"]),
        ("in/b.tmp", "in/c.tmp", []),
    ])
    func aRenameAcrossTheFilterIsTheHalfThatIsLetThrough(from: String, to: String, expected: [String]) throws {
        try with(.changed, include: ["*.jpg"]) { folder, told in
            try Linux.rename(folder[from], to: folder[to])
            try folder.write("in/last.jpg", "")
            try wait(for: "the last") { told().last == "written last.jpg new" }
            #expect(told().dropLast() == expected)
        }
    }

    /// Paths of which one sees what another does, too: each end of a rename is told once.
    @Test(
        arguments: [
            ("urgent", "echo > x", "mv x urgent/x", ["deleted x", "written urgent/x"]),
            ("urgent", "echo > urgent/x", "mv urgent/x x", ["deleted urgent/x", "written x"]),
            ("urgent", "echo > urgent/x", "mv urgent/x urgent/y", ["renamed urgent/y"]),
            (
                "app.conf", "echo > app.tmp; echo > app.conf", "mv app.tmp app.conf",
                ["deleted app.tmp", "written app.conf"]
            ),
        ])
    func aRenameAcrossPathsIsToldAtBothEnds(inner: String, before: String, rename: String, told: [String]) throws {
        try Folder.with { folder in
            try TreeSetup.shell("mkdir -p in/urgent; cd in; \(before)", in: folder.path)
            let trigger = PathTrigger(
                paths: [folder["in/\(inner)"].pathBytes, folder["in"].pathBytes], events: .changed,
                isRecursive: inner == "urgent")
            try Rim.with {
                PathSource($0, trigger, $1)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                try TreeSetup.shell(rename, in: folder["in"])
                try folder.write("in/last", "")
                let root = folder["in"].utf8.count + 1
                func facts() -> [String] {
                    rim.paths.map { "\($0.change) \(String(decoding: $0.path.dropFirst(root), as: UTF8.self))" }
                }
                try wait(for: "the last one") { facts().contains("written last") }
                #expect(facts().filter { !$0.hasSuffix("last") }.sorted() == told)
            }
        }
    }
}
