import CLinux

/// The file system that a path is on, by its magic number (`statfs(2)`).
package struct FileSystemType: Hashable, Sendable {
    package let magic: UInt32

    package init(magic: UInt32) { self.magic = magic }

    /// `statfs(2)`; a symbolic link is followed. May take long on a file system that hangs.
    package init(of path: some SystemPath) throws(SystemError) {
        magic = UInt32(truncatingIfNeeded: try Linux.call("statfs", path) { clinux_file_system_type($0) })
    }

    /// `fstatfs(2)`.
    package init(ofOpen descriptor: Int32) throws(SystemError) {
        magic = UInt32(truncatingIfNeeded: try Linux.call("fstatfs") { clinux_file_system_type_of(descriptor) })
    }

    /// That of the path (absolute), or of the first folder above it that is there; `nil`: it cannot be known.
    package static func nearest(to path: [UInt8]) -> FileSystemType? {
        let ends = path.indices.dropFirst().filter { path[$0] == UInt8(ascii: "/") }
        let steps = [path] + ends.reversed().map { Array(path[..<$0]) } + [[UInt8(ascii: "/")]]
        // Each step is asked once: what answers now may be gone a moment later, and a lazy sequence asks twice.
        for step in steps {
            if let type = try? FileSystemType(of: step) { return type }
        }
        return nil
    }

    private static let remote: [UInt32: String] = [
        0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB", 0x5346_414F: "AFS",
        0x00C3_6400: "Ceph", 0x0102_1997: "9P", 0x6573_5546: "FUSE", 0x7375_7245: "Coda", 0x0116_1970: "GFS2",
        0x7461_636F: "OCFS2", 0x0BD0_0BD0: "Lustre", 0x786F_4256: "vboxsf", 0xBACB_ACBC: "vmhgfs",
    ]

    private static let generated: [UInt32: String] = [
        0x9FA0: "/proc", 0x6265_6572: "/sys", 0x6462_6720: "debugfs", 0x7472_6163: "tracefs",
        0x7363_6673: "securityfs", 0x0027_E0EB: "cgroup", 0x6367_7270: "cgroup", 0xDE5E_81E4: "efivarfs",
    ]

    /// Their servers may number a file anew at any time, while it stays what it is.
    private static let unnumbered: Set<UInt32> = [
        0x6573_5546, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x786F_4256, 0xBACB_ACBC,
    ]

    /// Others may change it beyond this kernel, which then tells nobody (`inotify(7)`); its name.
    package var remoteName: String? { Self.remote[magic] }

    /// The kernel makes its contents as they are read, and tells nobody of most changes (`inotify(7)`); its name.
    package var generatedName: String? { Self.generated[magic] }

    /// Inotify does not tell of every change.
    package var silentName: String? { remoteName ?? generatedName }

    package var isGenerated: Bool { generatedName != nil }

    /// Whether a file is another one when its inode number is.
    package var hasLastingNumbers: Bool { !Self.unnumbered.contains(magic) }
}
