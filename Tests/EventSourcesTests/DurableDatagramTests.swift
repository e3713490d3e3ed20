import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

@Suite("Durable sockets", .ownThread) struct DurableDatagramTests {
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

    @Test(arguments: [DescriptorTrigger.Framing.datagram, .line])
    func whatWasToldAndNotTakenOutSaysThatItIsARepeat(framing: DescriptorTrigger.Framing) throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            let trigger = DescriptorTrigger(listener: .datagram(.unix(path)), framing: framing, maxLength: 100)
            func open(_ rim: Rim, _ stored: [KeptDescriptor: Int32]) -> QueueBound<any EventSource> {
                rim.open {
                    DatagramSource(
                        $0, .unix(path), trigger, $1, isDurable: true, spare: SpareDescriptors(stored))
                }
            }
            let rim = try Rim(isCommittedByHand: true)
            let source = open(rim, [:])
            try rim.waitUntilArmed()
            let sender = try Linux.socket(for: .unix(path), .datagram).release()
            defer { FileDescriptor(owning: sender).close() }
            for text in ["1\n2", "3"] { try Linux.send(sender, text.pathBytes, to: .unix(path)) }
            try wait(for: "the first datagram") { rim.lines.count == (framing == .line ? 2 : 1) }
            rim.on(source) { $0.hold() }
            let stored = try rim.store.mapValues { try Linux.duplicate($0).release() }
            let next = try Rim(position: rim.position)
            let after = open(next, stored)
            let expected = framing == .line ? ["1 true", "2 true", "3 false"] : ["1\n2 true", "3 false"]
            try wait(for: "all") { next.lines.count == expected.count }
            #expect(zip(next.texts, next.lines).map { "\($0) \($1.isRepeated)" } == expected)
            for (rim, source) in [(next, after), (rim, source)] { rim.on(source) { $0.close() } }
        }
    }

    // MARK: A file that is taken away

    /// While something is being stored, and afterwards.
    @Test(arguments: [false, true]) func whoseFileIsTakenAwayHearsAgain(isCommittedLate: Bool) throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            let trigger = DescriptorTrigger(listener: .datagram(.unix(path)), framing: .datagram)
            let rim = try Rim(isCommittedByHand: true)
            let source = rim.open { DatagramSource($0, .unix(path), trigger, $1, isDurable: true) }
            try Linux.socket(for: .unix(path), .datagram).use { sender in
                for text in ["1", "2", "3"] { try Linux.send(sender, text.pathBytes, to: .unix(path)) }
                try wait(for: "the first") { rim.texts == ["1"] }
                if !isCommittedLate {
                    rim.commit()
                    try wait(for: "the second") { rim.texts == ["1", "2"] }
                }
                try Linux.unlink(path)
                if isCommittedLate {
                    try wait(for: "it to be seen") { if case .waiting = rim.condition { true } else { false } }
                }
                try wait(for: "somebody to hear") {
                    rim.commit()
                    return (try? Linux.send(sender, "4".pathBytes, to: .unix(path))) != nil
                }
                try wait(for: "all") {
                    rim.commit()
                    return rim.texts == ["1", "2", "3", "4"]
                }
            }
            #expect(rim.condition == .armed && rim.gap == 0)
            rim.on(source) { $0.close() }
            rim.commit()
        }
    }

    @Test(arguments: [false, true]) func whatIsClosedUnreadWithAFileThatIsTakenAwayIsNamed(isDurable: Bool) throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            let trigger = DescriptorTrigger(listener: .datagram(.unix(path)), framing: .datagram)
            try Rim.with {
                DatagramSource($0, .unix(path), trigger, $1, isDurable: isDurable)
            } then: { rim, source in
                try rim.waitUntilArmed()
                try Linux.socket(for: .unix(path), .datagram).use { sender in
                    rim.on(source) { $0.hold() }
                    try Linux.send(sender, "1".pathBytes, to: .unix(path))
                    try Linux.unlink(path)
                    try wait(for: "somebody to hear") {
                        (try? Linux.send(sender, "2".pathBytes, to: .unix(path))) != nil
                    }
                    rim.on(source) { $0.release() }
                    try wait(for: "it") { rim.texts == ["2"] }
                }
                #expect(rim.gap == 1)
                #expect(rim.warnings == ["its socket is closed with datagrams that nobody has read"])
            }
        }
    }

    /// Nobody else can have the address while the socket is open.
    @Test(arguments: [false, true]) func whoseFolderIsMovedAwayAndBackHearsAgain(isDurable: Bool) throws {
        try Folder.with { folder in
            try folder.makeFolder("sub")
            let path = folder["sub/socket"].pathBytes
            let trigger = DescriptorTrigger(listener: .datagram(.unix(path)), framing: .datagram)
            try Rim.with {
                DatagramSource($0, .unix(path), trigger, $1, isDurable: isDurable)
            } then: { rim, source in
                try rim.waitUntilArmed()
                try Linux.rename(folder["sub"], to: folder["away"])
                try wait(for: "it to be missed") {
                    if case .failed = rim.condition { true } else { false }
                }
                try Linux.rename(folder["away"], to: folder["sub"])
                try rim.waitUntilArmed()
                try Linux.socket(for: .unix(path), .datagram).use { sender in
                    try Linux.send(sender, "1".pathBytes, to: .unix(path))
                    try wait(for: "it") { rim.texts == ["1"] }
                    try Linux.unlink(path)
                    try wait(for: "somebody to hear") {
                        (try? Linux.send(sender, "2".pathBytes, to: .unix(path))) != nil
                    }
                    try wait(for: "that too") { rim.texts == ["1", "2"] }
                }
                #expect(rim.gap == 0)
            }
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
