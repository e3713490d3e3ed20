import LinuxSystem
import Testing

@Suite("The table of mounts") struct MountTableTests {
    private static let table = MountTable(
        Array(
            #"""
            22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
            30 22 0:26 / /proc rw - proc proc rw
            41 22 0:40 / /mnt/a\040b rw - fuse x rw
            43 22 0:42 / /mnt rw - nfs4 server:/ rw
            44 43 0:43 / /mnt rw - nfs4 other:/ rw
            no line of it
            """#.utf8))

    @Test(arguments: [
        ("/", 22), ("/etc/passwd", 22), ("/proc", 30), ("/proc/self/x", 30), ("/process", 22), ("/mnt/a b/c", 41),
        ("/mnt/a", 44), ("/mnt", 44),
    ])
    func theOneOnTopOfTheLongestWayIsFound(path: String, number: Int) {
        #expect(Self.table.mount(of: Array(path.utf8)) == number)
    }

    @Test func withoutATableNothingIsKnown() {
        #expect(MountTable([]).mount(of: Array("/".utf8)) == nil)
    }

    @Test func thisProcessHasOne() throws {
        let table = MountTable.current
        let root = try #require(table.mount(of: Array("/".utf8)))
        #expect(try #require(table.mount(of: Array("/proc/self".utf8))) != root)
    }
}
