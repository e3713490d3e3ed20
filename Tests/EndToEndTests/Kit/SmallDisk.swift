import LinuxSystem
import ProgramKit

/// A small file system in memory, in the place of a folder, that can be filled up.
struct SmallDisk {
    private let path: String

    /// Mounts it on a new folder; `nil` where that is not allowed.
    init?(on path: String) throws {
        self.path = path
        try Linux.mkdir(path, mode: 0o700)
        let words = ["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "watchd-test", path]
        guard try Program.run(words).code == 0 else { return nil }
    }

    func unmount() { _ = try? Program.run(["umount", "--lazy", path]) }

    /// Lets nobody write, or everybody again.
    func remount(_ option: String) throws {
        let end = try Program.run(["mount", "-o", "remount,\(option)", path])
        guard end.code == 0 else { throw TimedOut(description: "\(end)") }
    }

    private var filler: String { "\(path)/filler" }

    var isFull: Bool { (try? Linux.lstat(filler)) != nil }

    /// Takes all the room that is left.
    func fill() throws {
        let file = try Linux.open(filler, [.writing, .creating, .appending]).release()
        defer { FileDescriptor(owning: file).close() }
        for size in [1 << 16, 1 << 12, 1] { fill(file, with: [UInt8](repeating: 0, count: size)) }
    }

    private func fill(_ file: Int32, with block: [UInt8]) {
        let written = { try? block.withUnsafeBytes { try Linux.write(file, $0) } }
        while let count = written(), count > 0 {}
    }

    func free() throws { try Linux.unlink(filler) }
}
