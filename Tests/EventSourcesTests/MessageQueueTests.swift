import LinuxSystem
import ProgramKit
import Testing

@testable import EventSources

@Suite("Message queues", .ownThread) struct MessageQueueTests {
    /// A queue of that name is made if it is not there: its permissions.
    private func permissions(_ name: [UInt8], _ mode: UInt32) throws -> UInt32 {
        try MessageQueue.open(name, FileOwner(mode: mode)).use { queue throws(SystemError) in
            try Linux.fstat(queue).permissions
        }
    }

    @Test func aNewOneHasTheWantedPermissionsWhateverTheUmaskAndSoHasOneThatIsThere() throws {
        try Folder.with { folder in
            // The folder is of this test alone.
            let name = [UInt8(ascii: "/")] + folder.path.pathBytes.map { $0 == UInt8(ascii: "/") ? 0x2D : $0 }
            defer { try? Linux.unlinkMessageQueue(name) }
            let seen = [try permissions(name, 0o666), try permissions(name, 0o600)]
            #expect(seen == [0o666, 0o600])
        }
    }
}
