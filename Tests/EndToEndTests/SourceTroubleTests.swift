import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

@Suite("Sources that cannot be armed, end to end", .ownThread) struct SourceTroubleTests {
    private static let text = """
        [Descriptor taken]
        ListenDatagram=@/taken
        Log=%{line}
        [Descriptor device]
        ListenSpecial=@/device
        Log=%{line}
        [Descriptor fifo]
        ListenFIFO=@/fifo
        Log=%{line}
        [Path folder]
        Path=@/in
        Log=changed
        [Custom poke]
        Exec=@/record poked
        """

    @Test func theyFailAloneAreTriedAgainAndHeal() throws {
        var other: FileDescriptor?
        defer { other.take()?.close() }
        try Watchd.run(Self.text) { folder in
            let endpoint = Endpoint.unix(Array(folder["taken"].utf8))
            let socket = try Linux.socket(for: endpoint, .datagram)
            try Linux.bind(socket.rawValue, endpoint)
            other = consume socket
        } body: { watchd in
            for (name, reason) in [("taken", "EADDRINUSE"), ("device", "ENOENT")] {
                let source = try watchd.source("descriptor/\(name)")
                #expect(source.state == .failed && source.nextTry != nil && source.descriptors == 0, "\(source)")
                #expect(source.reason?.contains(reason) == true, "\(source)")
                let problem = try #require(try watchd.status().problems.first { $0.object == source.name })
                #expect(problem.problem.contains(reason) && problem.nextTry != nil, "\(problem)")
            }
            try watchd.emit("poke")
            #expect(try watchd.waitForRuns(1).count == 1, "the others work")
            #expect(try watchd.source("fifo").descriptors == 1)
            let folder = try watchd.source("folder")
            #expect(folder.state == .waiting && folder.nextTry == nil && folder.watches > 0, "\(folder)")

            other.take()?.close()
            try Linux.mkfifo(watchd.folder["device"])
            for name in ["taken", "device"] {
                try wait(for: "\(name) to heal") { try watchd.source(name).state == .armed }
                let source = try watchd.source(name)
                #expect(source.nextTry == nil && source.reason == nil && source.descriptors == 1, "\(source)")
                try watchd.waitForLog("descriptor/\(name): armed again")
            }
            #expect(try watchd.status().problems.isEmpty)
            let told = try watchd.control("status", "descriptor/taken").text
            #expect(told.contains("costs") && told.contains("1 descriptor"), "\(told)")
        }
    }
}
