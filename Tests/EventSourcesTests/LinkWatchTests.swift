import Dispatch
import LinuxSystem
import ProgramKit
import Synchronization
import Testing

@testable import EventSources

@Suite("A path watched with its links", .ownThread)
struct LinkWatchTests {
    private final class Told: Sendable {
        let count = Mutex(0)
        let failures = Mutex<[SystemError]>([])

        /// Runs `change`, and waits until it was told.
        func expect(_ what: String, after change: () throws -> Void) throws {
            let before = count.withLock { $0 }
            try change()
            try wait(for: what) { count.withLock { $0 } > before }
        }
    }

    private func with(_ path: String, _ body: (Told, Context) throws -> Void) throws {
        let core = Context("test.core")
        let told = Told()
        let watch = try core.queue.sync {
            let watch = try LinkWatch(path, on: core) { error in
                told.failures.withLock { $0.append(error) }
            } handler: {
                told.count.withLock { $0 += 1 }
            }
            return QueueBound(watch, to: core)
        }
        defer { core.queue.sync { watch.value.cancel() } }
        try body(told, core)
    }

    /// As whoever sets the time zone does it.
    private func replace(_ link: String, by target: String, in folder: Folder) throws {
        try Linux.symlink(folder["draft"], to: target)
        try Linux.rename(folder["draft"], to: folder[link])
    }

    @Test func itTellsOfItsNameAndOfNoOther() throws {
        try Folder.with { folder in
            try folder.write("localtime", "one")
            try with(folder["localtime"]) { told, core in
                try folder.write("other", "two")
                try folder.write("new", "three")
                core.queue.sync {}
                #expect(told.count.withLock { $0 } == 0)
                try told.expect("the rename") { try Linux.rename(folder["new"], to: folder["localtime"]) }
                try told.expect("the writing") { try folder.write("localtime", "four") }
            }
        }
    }

    @Test func anyLinkOfTheChainAndTheFileAtItsEndAreWatched() throws {
        try Folder.with { folder in
            for name in ["etc", "etc/writable", "zones", "more"] { try folder.makeFolder(name) }
            for name in ["zones/Berlin", "zones/Tokyo", "more/Paris"] { try folder.write(name, name) }
            try replace("etc/writable/localtime", by: folder["zones/Berlin"], in: folder)
            try replace("etc/localtime", by: "./writable/../writable/localtime", in: folder)
            try with(folder["etc/localtime"]) { told, _ in
                try told.expect("the second link") {
                    try replace("etc/writable/localtime", by: "../../zones/Tokyo", in: folder)
                }
                try told.expect("the file") { try folder.write("zones/Tokyo", "new rules") }
                try told.expect("the second link, again") {
                    try replace("etc/writable/localtime", by: folder["more/Paris"], in: folder)
                }
                try told.expect("the other file") { try folder.write("more/Paris", "new rules") }
                try told.expect("the first link") {
                    try replace("etc/localtime", by: folder["zones/Berlin"], in: folder)
                }
                try told.expect("a folder that is moved away") {
                    try Linux.rename(folder["zones"], to: folder["zones.old"])
                }
                try told.expect("one in its place") { try Linux.rename(folder["zones.old"], to: folder["zones"]) }
                try told.expect("the file in it") { try folder.write("zones/Berlin", "newer rules") }
                #expect(told.failures.withLock { $0 }.isEmpty)
            }
        }
    }

    @Test func aLinkThatLeadsNowhereIsWatchedUntilItLeadsSomewhere() throws {
        try Folder.with { folder in
            try replace("localtime", by: folder["a/b/zone"], in: folder)
            try with(folder["localtime"]) { told, _ in
                try told.expect("the first folder") { try folder.makeFolder("a") }
                try told.expect("the second folder") { try folder.makeFolder("a/b") }
                try told.expect("the file") { try folder.write("a/b/zone", "rules") }
                try told.expect("its end") { try Linux.unlink(folder["a/b/zone"]) }
                try told.expect("the end of the folder") { try Linux.rmdir(folder["a/b"]) }
                try told.expect("the folder, again") { try folder.makeFolder("a/b") }
            }
        }
    }

    @Test func linksThatLeadInACircleAreBoundedAndWatched() throws {
        try Folder.with { folder in
            try replace("one", by: "two", in: folder)
            try replace("two", by: "one", in: folder)
            #expect(LinkWatch.places(Array(folder["one"].utf8)).count == 41)
            try with(folder["one"]) { told, _ in
                try told.expect("the way out") { try replace("two", by: "/dev/null", in: folder) }
            }
        }
    }

    @Test func aNameBehindAFileIsTheFile() throws {
        try Folder.with { folder in
            try folder.write("file", "")
            let places = LinkWatch.places(Array(folder["file/localtime"].utf8))
            #expect(places.last?.name == Array("file".utf8))
        }
    }
}
