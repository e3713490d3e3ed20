import LinuxSystem
import ProgramKit
import Testing

@testable import EventSources

/// What has changed in `proc_pid_mountinfo(5)`.
@Suite("Changes of mounts", .ownThread) struct MountTableTests {
    private func table(_ lines: String...) -> MountTable { MountTable(Array(lines.joined(separator: "\n").utf8)) }

    private func places(_ new: MountTable, _ old: MountTable) -> Set<String> {
        Set(new.changes(since: old).map { String(decoding: $0, as: UTF8.self) })
    }

    private let root = "20 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw"
    private let disk = "30 20 8:2 / /srv/a\\040b rw shared:2 - ext4 /dev/sdb1 rw"

    @Test func whatComesAndGoesIsNamed() {
        let (old, new) = (table(root), table(root, disk))
        #expect(places(new, old) == ["/srv/a b"] && places(old, new) == ["/srv/a b"] && places(new, new).isEmpty)
    }

    @Test func anotherLayerAnotherDeviceAndAnotherFolderAreChanges() {
        let old = table(root, disk)
        #expect(places(table(root, disk, disk.replacing("30 20 8:2", with: "31 30 0:9")), old) == ["/srv/a b"])
        #expect(places(table(root, disk.replacing("8:2", with: "8:3")), old) == ["/srv/a b"])
        #expect(places(table(root, disk.replacing("8:2 / ", with: "8:2 /sub ")), old) == ["/srv/a b"])
    }

    /// Propagation and options move no file.
    @Test func otherOptionsAreNone() {
        let other = disk.replacing("rw shared:2", with: "ro shared:7 master:1")
        #expect(places(table(root, other), table(root, disk)).isEmpty)
    }
}
