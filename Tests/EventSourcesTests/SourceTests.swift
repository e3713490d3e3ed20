import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import WatchFile

@testable import EventSources

/// The sources against the real kernel.
@Suite("Sources", .ownThread) struct SourceTests {
    private func text(_ line: LineFact) -> String { String(decoding: line.bytes, as: UTF8.self) }

    @Test func aHeldFifoIsNotReadAndGoesOnWhereItWas() throws {
        try Folder.with { folder in
            let path = folder["fifo"].pathBytes
            let trigger = DescriptorTrigger(listener: .fifo(path), framing: .line)
            try Rim.with {
                FIFOSource($0, path: path, trigger, $1)
            } then: { rim, source in
                try rim.waitUntilArmed()
                let writer = try Linux.open(path, .writing).release()
                try Linux.writeAll(writer, "one\ntw".utf8)
                try wait(for: "one") { rim.lines.count == 1 }
                rim.on(source) { $0.hold() }
                try Linux.writeAll(writer, "o\nthree".utf8)
                FileDescriptor(owning: writer).close()
                rim.on(source) { _ in }
                #expect(rim.lines.count == 1)
                rim.on(source) { $0.release() }
                try wait(for: "the rest") { rim.lines.count == 3 }
                #expect(rim.lines.map(text) == ["one", "two", "three"])
                #expect(rim.lines.map(\.isIncomplete) == [false, false, true])
                try folder.append("fifo", "four\n")
                try wait(for: "the next writer") { rim.lines.count == 4 }
            }
        }
    }

    @Test func aHeldFolderIsComparedAfterwards() throws {
        try Folder.with { folder in
            let trigger = PathTrigger(paths: [folder.path.pathBytes], events: [.written, .deleted, .renamed])
            try folder.write("old", "")
            try Rim.with {
                PathSource($0, trigger, $1)
            } then: { rim, source in
                try rim.waitUntilArmed()
                #expect(rim.paths.isEmpty, "what stood there is no event")
                try folder.write("a", "1")
                try wait(for: "a") { rim.paths.count == 1 }
                rim.on(source) { $0.hold() }
                try folder.write("b", "1")
                try folder.append("a", "2")
                try Linux.unlink(folder["old"])
                rim.on(source) { _ in }
                #expect(rim.paths.count == 1)
                rim.on(source) { $0.release() }
                // Some may have waited in the kernel's queue all the time, and are told as usual.
                let missed: Set<String> = ["written a", "written b", "deleted old"]
                try wait(for: "what was missed") {
                    let told = rim.paths.dropFirst().map { fact in
                        let name = String(decoding: fact.path.dropFirst(folder.path.utf8.count + 1), as: UTF8.self)
                        return "\(fact.change) \(name)"
                    }
                    return missed.isSubset(of: told)
                }
                try Linux.rename(folder["a"], to: folder["b"])
                try wait(for: "the rename") { rim.paths.last?.change == .renamed }
                #expect(rim.paths.last?.hasReplaced == true)
            }
        }
    }

    @Test func aFolderThatComesLaterIsListedOnce() throws {
        try Folder.with { folder in
            let trigger = PathTrigger(paths: [folder["a/b"].pathBytes], events: [.created, .written])
            try Rim.with {
                PathSource($0, trigger, $1)
            } then: { rim, _ in
                try wait(for: "it to say so") { if case .waiting = rim.condition { true } else { false } }
                try folder.makeFolder("a")
                try folder.makeFolder("a/b")
                try folder.write("a/b/file", "")
                try rim.waitUntilArmed()
                try wait(for: "the file") { rim.paths.contains { $0.change == .written } }
                #expect(rim.paths.count { $0.change == .written } == 1)
            }
        }
    }

    @Test func pidFilesHoldOneNumberAboveOne() {
        let texts: [String: Int32?] = [
            "2": 2, " 17\n": 17, "2147483647": 2_147_483_647, "": nil, "0": nil, "1": nil, "-3": nil, "+3": nil,
            "3 4": nil, "2147483648": nil, "x": nil, "3x": nil,
        ]
        for (text, pid) in texts { #expect(PIDFile.parse(text.pathBytes) == pid, "\(text)") }
    }

    @Test func anEpollSetTellsOfAHangUpAndForgetsWhatIsRemoved() throws {
        let core = Context("test.core")
        let told = Mutex<[EpollEvents]>([])
        let pipe = try Linux.pipe().ends()
        let set = try core.queue.sync {
            let set = try EpollSet(on: core)
            let token = Mutex<UInt64>(0)
            let number = try set.add(pipe.read, .readable) { events in
                told.withLock { $0.append(events) }
                set.remove(token.withLock { $0 })
            }
            token.withLock { $0 = number }
            return QueueBound(set, to: core)
        }
        FileDescriptor(owning: pipe.write).close()
        try wait(for: "the hang-up") { told.withLock { $0.count } == 1 }
        core.queue.sync {}
        #expect(told.withLock { $0.first?.contains(.hangUp) } == true)
        #expect(told.withLock { $0.count } == 1, "once, as it was removed")
        core.queue.sync { set.value.cancel() }
        FileDescriptor(owning: pipe.read).close()
    }

    @Test func everyClockElapsesAtTheTimeItWasArmedFor() throws {
        for clock in LinuxSystem.Clock.allCases {
            let core = Context("test.core")
            let elapsed = Mutex<Int64?>(nil)
            let due = Linux.now(clock) + 20_000
            let timers = try core.queue.sync {
                let timers = try ClockTimers(on: core) { elapsed.withLock { $0 = Linux.now(clock) } }
                try timers.arm(clock, at: due)
                return QueueBound(timers, to: core)
            }
            try wait(for: "the elapse of \(clock)") { elapsed.withLock { $0 } != nil }
            #expect(elapsed.withLock { $0 ?? 0 } >= due)
            core.queue.sync { timers.value.cancel() }
        }
    }
}
