import EventSources
import Glibc
import Handlers
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import Daemon

@Suite("Service manager", .ownThreadChain) struct ServiceManagerTests {
    /// The datagrams that a manager gets of `body`, as many as are waited for.
    private static func received(_ count: Int, _ body: (ServiceManager) -> Void) throws -> [String] {
        let name = "watchd-test-manager-\(Linux.processID)"
        let endpoint = Endpoint.abstract(name.pathBytes)
        var texts: [String] = []
        try Linux.socket(for: endpoint, .datagram).use { socket in
            try Linux.bind(socket, endpoint)
            setenv("NOTIFY_SOCKET", "@" + name, 1)
            body(ServiceManager(logger: Logger(level: .emerg)))
            try wait(for: "\(count) datagrams") {
                while let datagram = try Linux.receiveDatagram(socket, limit: 4096) {
                    texts.append(String(decoding: datagram.bytes, as: UTF8.self))
                }
                return texts.count >= count
            }
        }
        return texts
    }

    @Test func anExtensionIsBoundedByItsLimit() async {
        await #expect(processExitsWith: .success) {
            let texts = try ServiceManagerTests.received(1) { $0.extendTimeout(atMost: 2_000_000) }
            let parts = texts[0].split(separator: "=")
            precondition(texts.count == 1 && parts.first == "EXTEND_TIMEOUT_USEC", "\(texts)")
            precondition((1...2_000_000).contains(Int(parts[1]) ?? 0), "\(texts)")
        }
    }

    @Test func itIsRepeatedBeforeItIsOver() async {
        await #expect(processExitsWith: .success) {
            let texts = try ServiceManagerTests.received(2) { $0.extendTimeout(atMost: .max) }
            precondition(texts == Array(repeating: "EXTEND_TIMEOUT_USEC=15000000", count: 2), "\(texts)")
        }
    }

    @Test func whatIsForgottenBeforeItWasSentIsNeverSent() async {
        await #expect(processExitsWith: .success) {
            let limit = String(decoding: try Linux.readFile("/proc/sys/net/unix/max_dgram_qlen"), as: UTF8.self)
            let length = (Int(limit.split(separator: "\n").first ?? "") ?? 10) + 10
            let texts = try ServiceManagerTests.received(length + 3) { manager in
                let file = (try? Linux.open("/dev/null").release()) ?? -1
                let source = SourceID(.descriptor, "a")
                // Its socket is full, so that all else has to wait.
                for number in 0..<length { manager.remove("\(number)") }
                for number in UInt64(1)...100 {
                    manager.keep(.connection(source, number), file)
                    manager.forget(.connection(source, number))
                    manager.keep(.fifo(source), file)
                }
                manager.forget(.fifo(source))
                manager.keep(.socket(source), file)
                manager.forget(.connection(source, 101))
            }
            let remove = "FDSTOREREMOVE=1\nFDNAME="
            let wanted = [remove + "fifo-a", "FDSTORE=1\nFDNAME=socket-a\nFDPOLL=0", remove + "connection-101-a"]
            precondition(Array(texts.dropFirst(length)) == wanted, "\(texts.suffix(5))")
        }
    }

    @Test func withoutALimitLeftNothingIsSent() async {
        await #expect(processExitsWith: .success) {
            let texts = try ServiceManagerTests.received(1) { manager in
                manager.ready("up")
                manager.extendTimeout(atMost: 0)
            }
            precondition(texts == ["READY=1\nSTATUS=up"], "\(texts)")
        }
    }

    @Test func readyIsSentThoughEveryDescriptorIsUsedUp() async {
        await #expect(processExitsWith: .success) {
            let texts = try ServiceManagerTests.received(2) { manager in
                var taken: [Int32] = []
                while let one = try? Linux.open("/dev/null").release() { taken.append(one) }
                manager.ready("up")
                manager.stopping("over")
            }
            precondition(texts == ["READY=1\nSTATUS=up", "STOPPING=1\nSTATUS=over"], "\(texts)")
        }
    }
}
