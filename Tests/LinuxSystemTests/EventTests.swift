import Glibc
import LinuxSystem
import ProgramKit
import Testing

@Suite("Event descriptors") struct EventTests {
    @Test func inotifyTellsWhatHappenedByteForByte() throws {
        try withTemporaryFolder { folder throws in
            try Linux.inotifyCreate().use { inotify throws in
                let watch = try Linux.inotifyAdd(
                    inotify, folder, [.created, .closedAfterWriting, .movedFrom, .movedTo, .deleted, .onlyFolders])
                #expect(try Linux.inotifyRead(inotify) == [])
                let name: [UInt8] = [0x61, 0xFF, 0x0A]
                try Linux.writeFile((folder + "/").pathBytes + name, "x")
                try Linux.rename((folder + "/").pathBytes + name, to: folder + "/b")
                try Linux.mkdir(folder + "/d")
                try Linux.unlink(folder + "/b")
                let events = try Linux.inotifyRead(inotify)
                let b = "b".pathBytes
                #expect(events.map(\.name) == [name, name, name, b, "d".pathBytes, b])
                #expect(
                    events.map(\.mask) == [
                        .created, .closedAfterWriting, .movedFrom, .movedTo, [.created, .isFolder], .deleted,
                    ])
                #expect(events.allSatisfy { $0.watch == watch })
                #expect(events[2].cookie != 0 && events[2].cookie == events[3].cookie)
                try Linux.inotifyRemove(inotify, watch: watch)
                #expect(try Linux.inotifyRead(inotify) == [InotifyEvent(watch: watch, mask: .ignored)])
                let error = #expect(throws: SystemError.self) { try Linux.inotifyRemove(inotify, watch: watch) }
                #expect(error?.errno == .invalidArgument)
            }
        }
    }

    @Test func aRecordThatIsCutOffEndsTheList() {
        func record(_ fields: [UInt32], _ name: [UInt8]) -> [UInt8] {
            fields.flatMap { field in withUnsafeBytes(of: field) { Array($0) } } + name
        }
        let overflow = record([UInt32.max, InotifyMask.overflowed.rawValue, 0, 0], [])
        let named = record([1, InotifyMask.deleted.rawValue, 0, 16], [0x61, 0x62] + [UInt8](repeating: 0, count: 14))
        let events = [
            InotifyEvent(watch: -1, mask: .overflowed), InotifyEvent(watch: 1, mask: .deleted, name: "ab".pathBytes),
        ]
        let bytes = overflow + named
        for count in 0...bytes.count {
            let expected = count < 16 ? 0 : count < bytes.count ? 1 : 2
            #expect(bytes[..<count].withUnsafeBytes(InotifyEvent.parse) == Array(events.prefix(expected)))
        }
    }

    @Test func aTimerElapsesAtItsInstant() throws {
        for clock in Clock.allCases {
            try Linux.timerCreate(clock).use { timer throws in
                #expect(try Linux.timerRead(timer) == .pending)
                try Linux.timerSet(timer, at: Linux.now(clock) + 3_600_000_000)
                #expect(try Linux.poll(timer, .readable, timeout: 0) == [])
                let instant = Linux.now(clock) + 2000
                try Linux.timerSet(timer, at: instant, cancelsWhenClockIsSet: clock == .realtime)
                #expect(try Linux.poll(timer, .readable, timeout: 10_000) == .readable)
                #expect(Linux.now(clock) >= instant)
                #expect(try Linux.timerRead(timer) == .elapsed(1))
                #expect(try Linux.timerRead(timer) == .pending)
                try Linux.timerSet(timer, at: -5)
                #expect(try Linux.poll(timer, .readable, timeout: 10_000) == .readable)
                try Linux.timerSet(timer, at: nil)
                #expect(try Linux.timerRead(timer) == .pending)
            }
        }
    }

    @Test func anEpollSetReportsByToken() throws {
        try Linux.epollCreate().use { epoll throws in
            let pipe = try Linux.pipe(nonBlocking: true)
            try Linux.epollAdd(epoll, pipe.readEnd.rawValue, .readable, token: .max)
            #expect(try Linux.epollWait(epoll, atMost: 8, timeout: 0) == [])
            try Linux.writeAll(pipe.writeEnd.rawValue, [1, 2, 3])
            #expect(
                try Linux.epollWait(epoll, atMost: 8, timeout: 10_000) == [EpollReport(token: .max, events: .readable)])
            pipe.writeEnd.close()
            // What was written is still there, and the hang-up is told even if nothing is asked.
            try Linux.epollModify(epoll, pipe.readEnd.rawValue, [], token: 5)
            #expect(
                try Linux.epollWait(epoll, atMost: 8, timeout: 10_000) == [EpollReport(token: 5, events: .hangUp)])
            #expect(try Linux.read(pipe.readEnd.rawValue, atMost: 10) == [1, 2, 3])
            #expect(try Linux.read(pipe.readEnd.rawValue, atMost: 10).isEmpty)
            try Linux.epollRemove(epoll, pipe.readEnd.rawValue)
            #expect(try Linux.epollWait(epoll, atMost: 8, timeout: 0) == [])
            pipe.readEnd.close()
        }
    }

    @Test func whatIsAlwaysReadyCannotBeWaitedFor() throws {
        try Linux.epollCreate().use { epoll throws in
            try Linux.open("/", .folder).use { folder throws in
                let error = #expect(throws: SystemError.self) {
                    try Linux.epollAdd(epoll, folder, .readable, token: 1)
                }
                #expect(error?.errno == .notPermitted)
            }
        }
    }

    @Test func aNonBlockingReadSaysSo() throws {
        let pipe = try Linux.pipe(nonBlocking: true)
        let writeEnd = pipe.writeEnd.release()
        try pipe.readEnd.use { readEnd throws in
            let error = #expect(throws: SystemError.self) { try Linux.read(readEnd, atMost: 1) }
            #expect(error?.errno == .wouldBlock)
            #expect(try Linux.poll(readEnd, .readable, timeout: 1) == [])
        }
        try FileDescriptor(owning: writeEnd).use { writeEnd throws in
            Linux.ignoreSignal(SIGPIPE)
            // A process that another test is just spawning has the other end until it executes its program.
            #expect(try Linux.poll(writeEnd, [], timeout: 10_000).contains(.error))
            let error = #expect(throws: SystemError.self) { try Linux.writeAll(writeEnd, [1]) }
            #expect(error?.errno == .brokenPipe)
        }
    }
}
