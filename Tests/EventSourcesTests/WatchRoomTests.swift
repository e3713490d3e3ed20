import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Schedule
import Testing
import WatchFile

@testable import EventSources

/// `MaxWatches=`.
@Suite("Room for watches", .ownThread) struct WatchRoomTests {
    @Test(
        arguments: [
            (.number(7), 8192, 7), (.share(80), 8192, 6553), (.share(100), 8192, 8192), (.share(1), 50, 0),
            (.share(50), .max / 100, .max / 200),
        ] as [(WatchLimit, Int, Int)])
    func aLimitIsANumberOrAShare(_ limit: WatchLimit, _ most: Int, _ count: Int) {
        #expect(abs(limit.count(of: most) - count) <= 100 && (most > 10_000 || limit.count(of: most) == count))
    }

    private func withRim(_ limit: Int, _ files: [String], _ body: (Folder, Rim) throws -> Void) throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            for name in files { try folder.makeFolder("in/\(name)") }
            try body(folder, try Rim(limit: .number(limit)))
        }
    }

    private func trigger(_ paths: [String], isRecursive: Bool) -> PathTrigger {
        var trigger = PathTrigger(paths: paths.map(\.pathBytes), events: .changed, isRecursive: isRecursive)
        trigger.polling.interval = .milliseconds(100)
        return trigger
    }

    private func watches(_ rim: Rim) throws -> Int {
        let inotify = rim.core.queue.sync { rim.parts.value.environment.inotify.storeDescriptor }
        return try Linux.inotifyWatches(inotify).count
    }

    @Test(arguments: [true, false]) func whatHasNoRoomIsComparedUntilThereIsMore(isRecursive: Bool) throws {
        let names = (1...20).map(String.init)
        try withRim(12, names) { folder, rim in
            let paths = isRecursive ? [folder["in"]] : names.map { folder["in/\($0)"] }
            let source = rim.open { PathSource($0, trigger(paths, isRecursive: isRecursive), $1) }
            defer { rim.core.queue.sync { source.value.close() } }
            try wait(for: "it to say so, not \(rim.limits)") {
                (rim.limits.last ?? nil)?.hasSuffix("compared every 100ms: inotify watches used up (MaxWatches=12, 12)")
                    == true
            }
            try rim.waitUntilArmed()
            for name in names { try folder.write("in/\(name)/f", "") }
            try wait(for: "all files") { Set(rim.paths.map(\.path)).count >= 20 }
            try wait(for: "what was too much to be given up") { try watches(rim) <= 12 }
            #expect(try watches(rim) > 0)
            rim.core.queue.sync { rim.parts.value.environment.inotify.setLimit(.number(100)) }
            try wait(for: "the end of it") { rim.limits.last == .some(nil) }
            #expect(try watches(rim) >= 20)
            // Each is told once.
            let told = rim.paths.filter { $0.change == .written }
            #expect(told.count == 20 && Set(told.map(\.path)).count == 20, "\(told)")
        }
    }

    /// What is watched already takes no room.
    @Test func aSecondSourceOfTheSameTreeNeedsNone() throws {
        try withRim(8, ["a", "b", "a/c"]) { folder, rim in
            let one = rim.open { PathSource($0, trigger([folder["in"]], isRecursive: true), $1) }
            try rim.waitUntilArmed()
            let count = try watches(rim)
            rim.core.queue.sync { rim.parts.value.environment.inotify.setLimit(.number(count)) }
            let two = rim.open { PathSource($0, trigger([folder["in"]], isRecursive: true), $1) }
            defer { rim.core.queue.sync { for source in [one, two] { source.value.close() } } }
            try folder.write("in/a/c/f", "")
            try wait(for: "both to tell of it") { rim.paths.count { $0.change == .written } == 2 }
            #expect(rim.limits.compactMap(\.self).isEmpty, "\(rim.limits)")
            #expect(try watches(rim) == count)
            // Another folder finds none; one that goes makes room.
            try folder.makeFolder("in/d")
            try wait(for: "it to say so") { (rim.limits.last ?? nil)?.contains("MaxWatches=\(count)") == true }
            try Linux.rmdir(folder["in/b"])
            try wait(for: "the end of it") { rim.limits.suffix(2).allSatisfy { $0 == nil } }
            #expect(try watches(rim) == count)
        }
    }
}
