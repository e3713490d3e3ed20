import Glibc
import LinuxSystem
import ProgramKit
import Testing

@Suite("Pipes") struct PipeTests {
    private func withPipes(_ body: ((read: Int32, write: Int32), (read: Int32, write: Int32)) throws -> Void) throws {
        let (first, second) = (try Linux.pipe(nonBlocking: true).ends(), try Linux.pipe(nonBlocking: true).ends())
        defer { for end in [first.read, second.read, second.write] { FileDescriptor(owning: end).close() } }
        try body(first, second)
    }

    @Test func teeShowsWithoutConsuming() throws {
        try withPipes { from, to in
            let error = #expect(throws: SystemError.self) { try Linux.tee(from.read, to: to.write, atMost: 100) }
            #expect(error?.errno == .wouldBlock)
            try Linux.writeAll(from.write, "abcdef".utf8)
            #expect(try Linux.tee(from.read, to: to.write, atMost: 4) == 4)
            #expect(try Linux.tee(from.read, to: to.write, atMost: 1 << 30) == 6)
            #expect(try Linux.read(to.read, atMost: 100) == "abcdabcdef".pathBytes)
            #expect(try Linux.bytesAvailable(from.read) == 6)
            #expect(try Linux.skip(from.read, 4) == 4)
            #expect(try Linux.read(from.read, atMost: 100) == "ef".pathBytes)
            FileDescriptor(owning: from.write).close()
            // A program that another test starts may have it for a moment.
            #expect(try Linux.poll(from.read, [], timeout: 10_000).contains(.hangUp))
            #expect(try Linux.tee(from.read, to: to.write, atMost: 100) == 0, "nobody writes")
            #expect(try Linux.skip(from.read, 1) == 0)
        }
    }

    @Test func aPipeIsMadeLarger() throws {
        try withPipes { pipe, _ in
            try Linux.setPipeSize(pipe.read, 200_000)
            let size = try Linux.pipeSize(pipe.write)
            #expect(size >= 200_000)
            let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
            try Linux.writeAll(pipe.write, bytes)
            #expect(try Linux.skip(pipe.read, 150_000) == 150_000)
            #expect(try Linux.read(pipe.read, atMost: 1) == [bytes[150_000]])
            let error = #expect(throws: SystemError.self) { try Linux.setPipeSize(pipe.read, 0) }
            #expect(error?.errno == Errno(EBUSY), "what is in it does not fit")
            FileDescriptor(owning: pipe.write).close()
        }
    }

    @Test func aDatagramThatIsLookedAtStays() throws {
        let pair = try Linux.socketPair(.datagram).ends()
        defer { for end in [pair.read, pair.write] { FileDescriptor(owning: end).close() } }
        try Linux.setNonBlocking(pair.read)
        try Linux.writeAll(pair.write, "one".utf8)
        try Linux.writeAll(pair.write, "two".utf8)
        for _ in 0..<2 {
            #expect(try Linux.receiveDatagram(pair.read, limit: 9, peeking: true)?.bytes == "one".pathBytes)
        }
        #expect(try Linux.receiveDatagram(pair.read, limit: 0)?.isTruncated == true)
        #expect(try Linux.receiveDatagram(pair.read, limit: 9)?.bytes == "two".pathBytes)
        #expect(try Linux.receiveDatagram(pair.read, limit: 9, peeking: true) == nil)
    }

    @Test func theWatchesOfAnInotifyDescriptorAreListed() throws {
        try Linux.inotifyCreate().use { inotify throws in
            #expect(try Linux.inotifyWatches(inotify) == [])
            let watches = try ["/", "/tmp", "/usr"].map { path throws(SystemError) in
                try Linux.inotifyAdd(inotify, path, .created)
            }
            #expect(try Linux.inotifyWatches(inotify) == Set(watches))
            try Linux.inotifyRemove(inotify, watch: watches[1])
            #expect(try Linux.inotifyWatches(inotify) == [watches[0], watches[2]])
        }
    }
}
