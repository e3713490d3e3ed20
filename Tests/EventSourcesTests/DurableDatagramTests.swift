import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

@Suite("Durable sockets") struct DurableDatagramTests {
    private func with(_ framing: DescriptorTrigger.Framing, _ body: (Rim, Int32, [UInt8]) throws -> Void) throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            let trigger = DescriptorTrigger(listener: .datagram(.unix(path)), framing: framing, maxLength: 100)
            let rim = try Rim(isCommittedByHand: true)
            let source = rim.open { DatagramSource($0, .unix(path), trigger, $1, isDurable: true) }
            let sender = try Linux.socket(for: .unix(path), .datagram).release()
            defer {
                FileDescriptor(owning: sender).close()
                rim.on(source) { $0.close() }
                rim.commit()
            }
            rim.core.queue.sync {
                let (safety, source) = (rim.parts.value.safety, source.value)
                safety.onEvent = { if $0 == 2 { source.hold() } }
            }
            try body(rim, sender, path)
            rim.on(source) { $0.release() }
            try wait(for: "all") {
                rim.commit()
                return rim.lines.count == 5
            }
            rim.commit()
            #expect(rim.texts == ["1", "2", "3", "4", "5"])
        }
    }

    @Test func aDatagramStaysUntilItIsSafe() throws {
        try with(.datagram) { rim, sender, path in
            for text in ["1", "2", "3", "4", "5"] { try Linux.send(sender, text.pathBytes, to: .unix(path)) }
            try wait(for: "the first") { rim.lines.count == 1 }
            rim.core.queue.sync {}
            #expect(rim.lines.count == 1, "one at a time")
            rim.commit()
            try wait(for: "the second") { rim.lines.count == 2 }
            rim.commit()
            #expect(rim.lines.count == 2, "it is held")
        }
    }

    @Test func theLinesOfADatagramAreToldOnceThoughItIsHeldInBetween() throws {
        try with(.line) { rim, sender, path in
            for text in ["", "1\n2\n3", "", "4\n5\n"] { try Linux.send(sender, text.pathBytes, to: .unix(path)) }
            try wait(for: "two lines") { rim.lines.count == 2 }
            rim.commit()
            #expect(rim.lines.count == 2)
        }
    }

    @Test(.enabled(if: Linux.environment("WATCHD_MEASURE") != nil)) func datagramsPerSecond() throws {
        for isDurable in [false, true, false, true] {
            try Folder.with { folder in
                let path = folder["socket"].pathBytes
                let trigger = DescriptorTrigger(listener: .datagram(.unix(path)), framing: .datagram)
                let rim = try Rim()
                let source = rim.open { DatagramSource($0, .unix(path), trigger, $1, isDurable: isDurable) }
                let before = Linux.now(.monotonic)
                try Linux.socket(for: .unix(path), .datagram, nonBlocking: false).use { sender in
                    for _ in 0..<200_000 { try Linux.send(sender, [1, 2, 3], to: .unix(path)) }
                }
                try wait(for: "all") { rim.lines.count == 200_000 }
                print("durable \(isDurable): \(200_000 * 1_000_000 / (Linux.now(.monotonic) - before)) datagrams/s")
                rim.on(source) { $0.close() }
            }
        }
    }
}
