import LinuxSystem
import SeedKit
import Testing
import WatchFile

@testable import Daemon

@Suite("Last configuration") struct LastConfigurationTests {
    private static let sample = LastConfiguration(
        of: ["/etc/watchd", "b.watch"],
        [
            WatchFileText(file: "/etc/watchd/a.watch", bytes: Array("[Custom a]\nLog=x\n".utf8)),
            WatchFileText(
                file: "/etc/watchd/a.watch.d/1.watch", bytes: [0xFF, 0, 10], dropInOf: "/etc/watchd/a.watch"),
            WatchFileText(file: "empty", bytes: []),
        ])

    @Test func itReadsWhatItHasWritten() throws {
        #expect(try LastConfiguration(Self.sample.bytes) == Self.sample)
        let empty = LastConfiguration(of: [])
        #expect(try LastConfiguration(empty.bytes) == empty)
    }

    @Test func namesOfFilesCountFromTheFolder() throws {
        let here = String(decoding: try Linux.realPath("."), as: UTF8.self)
        #expect(Self.sample.operands == ["/etc/watchd", "\(here)/b.watch"])
    }

    @Test func halfOfItAndMoreOfItAreDamaged() {
        let bytes = Self.sample.bytes
        for count in bytes.indices {
            #expect(throws: DamagedBytes.self) { try LastConfiguration(Array(bytes.prefix(count))) }
        }
        #expect(throws: DamagedBytes.self) { try LastConfiguration(bytes + [0]) }
    }

    @Test func noBytesStopTheProgram() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            var bytes = Self.sample.bytes
            for _ in 0...random.upTo(3) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            // Whatever it says: it is read, or it is damaged.
            if let read = try? LastConfiguration(bytes) {
                #expect(try LastConfiguration(read.bytes) == read, "seed \(seed)")
            }
        }
    }
}
