import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

@Suite("Dropped datagrams", .ownThread) struct DroppedDatagramTests {
    /// Datagrams for which the kernel has no room while nobody reads.
    @Test(arguments: [false, true]) func areCountedWhenTheOthersWereRead(isDurable: Bool) throws {
        let loopback: [UInt8] = [127, 0, 0, 1]
        let free = try Linux.socket(for: .ipv4(address: loopback, port: 0), .datagram)
        try Linux.bind(free.rawValue, .ipv4(address: loopback, port: 0))
        guard case .ipv4(_, let port) = try Linux.localEndpoint(free.rawValue) else { return }
        free.close()
        let address = SocketAddress.ipv4(address: loopback, port: port)
        let trigger = DescriptorTrigger(listener: .datagram(address), framing: .datagram, maxLength: 1000)
        try Rim.with {
            DatagramSource($0, address, trigger, $1, isDurable: isDurable)
        } then: { rim, source in
            try rim.waitUntilArmed()
            rim.on(source) { $0.hold() }
            let count = 2000
            let bytes = [UInt8](repeating: 1, count: 1000)
            try Linux.socket(for: .ipv4(address: loopback, port: 0), .datagram).use { sender in
                for _ in 0..<count { try Linux.send(sender, bytes, to: .ipv4(address: loopback, port: port)) }
            }
            rim.on(source) { $0.release() }
            try wait(for: "all to be counted, not \(rim.lines.count) and \(rim.gap)") {
                rim.lines.count + rim.gap == count
            }
            #expect(rim.gap > 0 && rim.lines.count > 0)
            let told = "the kernel has dropped \(rim.gap) datagrams, for which its socket had no room"
            #expect(rim.warnings == [told])
        }
    }
}
