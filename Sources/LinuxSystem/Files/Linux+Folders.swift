import CLinux
import Glibc

/// A name in a folder.
package struct FolderEntry: Hashable, Sendable {
    package var name: [UInt8]
    /// As the folder tells it; `unknown` where the file system does not, and the file must be asked.
    package var kind: FileStatus.Kind
    package var inode: UInt64
}

extension Linux {
    /// Bytes of names that one call gives.
    private static let entriesPerCall = 32_768

    /// `getdents64(2)`: everything in a folder but `.` and `..`, in no order.
    package static func readFolder(_ path: some SystemPath) throws(SystemError) -> [FolderEntry] {
        try open(path, [.reading, .folder, .nonBlocking]).use { folder throws(SystemError) in
            try readFolder(folder, of: path.pathBytes)
        }
    }

    /// `getdents64(2)` of an open folder, from the place where it was read last.
    package static func readFolder(_ descriptor: Int32, of path: [UInt8]) throws(SystemError) -> [FolderEntry] {
        var entries: [FolderEntry] = []
        try withUnsafeTemporaryAllocation(byteCount: entriesPerCall, alignment: 8) { buffer throws(SystemError) in
            while true {
                let count = try readEntries(descriptor, into: buffer, path)
                if count == 0 { return }
                parse(UnsafeRawBufferPointer(rebasing: buffer[..<count]), into: &entries)
            }
        }
        return entries
    }

    private static func readEntries(
        _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, _ path: [UInt8]
    ) throws(SystemError) -> Int {
        do throws(SystemError) {
            return try call("getdents64", path.printable) {
                clinux_getdents(descriptor, buffer.baseAddress, buffer.count)
            }
        } catch  where error.errno == .noSuchFile {
            // Of a folder that was removed, as readdir(3) has it.
            return 0
        }
    }

    /// `struct linux_dirent64`: d_ino (8 bytes), d_off (8), d_reclen (2), d_type (1), d_name.
    private static func parse(_ bytes: UnsafeRawBufferPointer, into entries: inout [FolderEntry]) {
        let (lengthAt, typeAt, nameAt) = (16, 18, 19)
        var start = 0
        while start + nameAt < bytes.count {
            let end = start + Int(bytes.loadUnaligned(fromByteOffset: start + lengthAt, as: UInt16.self))
            guard end > start + nameAt, end <= bytes.count else { return }
            let name = bytes[(start + nameAt)..<end].prefix { $0 != 0 }
            if !isSelfOrParent(name) {
                // d_type is the file type bits of a mode, shifted right by 12 (DTTOIF of dirent.h).
                let kind = FileStatus.Kind(mode: mode_t(bytes[start + typeAt]) << 12)
                let inode = bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)
                entries.append(FolderEntry(name: Array(name), kind: kind, inode: inode))
            }
            start = end
        }
    }

    /// `.` or `..`
    private static func isSelfOrParent(_ name: Slice<UnsafeRawBufferPointer>) -> Bool {
        name.count <= 2 && name.allSatisfy { $0 == UInt8(ascii: ".") }
    }

    /// `readlink(2)`: what a symbolic link says.
    package static func readlink(_ path: some SystemPath) throws(SystemError) -> [UInt8] {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try call("readlink", path) { path in
            Glibc.readlink(path, &target, target.count)
        }
        return target[..<count].map { UInt8(bitPattern: $0) }
    }

    /// `realpath(3)`: the same place without links, `.` and `..`.
    ///
    /// libc goes there step by step: where a link is switched meanwhile, and what it led to removed, a step is missing.
    /// So it goes twice before it says that nothing is there.
    package static func realPath(_ path: some SystemPath) throws(SystemError) -> [UInt8] {
        var real = [CChar](repeating: 0, count: Int(PATH_MAX))
        try call("realpath", path) {
            if realpath($0, &real) != nil { return 0 }
            return errno == ENOENT && realpath($0, &real) != nil ? 0 : -1
        }
        return real.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    }

    /// `mkdir(2)`.
    package static func mkdir(_ path: some SystemPath, mode: UInt32 = 0o777) throws(SystemError) {
        try call("mkdir", path) { Glibc.mkdir($0, mode) }
    }

    /// `mkdir(2)` of a folder (absolute) and of all that is missing on the way to it, each with exactly these
    /// permissions, whatever the umask. Existing folders stay as they are.
    package static func makeFolders(_ path: [UInt8], permissions: UInt32) throws(SystemError) {
        let ends = path.indices.dropFirst().filter { path[$0] == UInt8(ascii: "/") } + [path.endIndex]
        let steps = ends.map { Array(path[..<$0]) }
        // An existing folder may stand where only its path may be passed.
        let known = steps.lastIndex { (try? stat($0)) != nil } ?? -1
        for step in steps[(known + 1)...] {
            do throws(SystemError) {
                try mkdir(step, mode: permissions)
            } catch  where error.errno == .fileExists {
                continue
            }
            try chmod(step, permissions)
        }
    }

    /// `mkfifo(3)`.
    package static func mkfifo(_ path: some SystemPath, mode: UInt32 = 0o666) throws(SystemError) {
        try call("mkfifo", path) { Glibc.mkfifo($0, mode) }
    }

    /// `unlink(2)`.
    package static func unlink(_ path: some SystemPath) throws(SystemError) {
        try call("unlink", path) { Glibc.unlink($0) }
    }

    /// `rmdir(2)`.
    package static func rmdir(_ path: some SystemPath) throws(SystemError) {
        try call("rmdir", path) { Glibc.rmdir($0) }
    }

    /// `rename(2)`.
    package static func rename(_ from: some SystemPath, to target: some SystemPath) throws(SystemError) {
        try pair("rename", from, target) { Glibc.rename($0, $1) }
    }

    /// `link(2)`: another name for the file.
    package static func link(_ from: some SystemPath, to name: some SystemPath) throws(SystemError) {
        try pair("link", from, name) { Glibc.link($0, $1) }
    }

    /// `symlink(2)`: `name` points to `target`.
    package static func symlink(_ name: some SystemPath, to target: some SystemPath) throws(SystemError) {
        try pair("symlink", target, name) { Glibc.symlink($0, $1) }
    }

    private static func pair(
        _ name: String, _ first: some SystemPath, _ second: some SystemPath,
        _ body: (UnsafePointer<CChar>, UnsafePointer<CChar>) -> Int32
    ) throws(SystemError) {
        let bytes = second.pathBytes
        if bytes.contains(0) { throw SystemError(call: name, detail: bytes.printable, errno: .invalidArgument) }
        try call(name, first) { first in bytes.withCString { body(first, $0) } }
    }
}
