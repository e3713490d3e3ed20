import Glibc

/// A name in a folder.
package struct FolderEntry: Hashable, Sendable {
    package var name: [UInt8]
    /// As the folder tells it; `unknown` where the file system does not, and the file must be asked.
    package var kind: FileStatus.Kind
    package var inode: UInt64
}

extension Linux {
    /// `readdir(3)`: everything in a folder but `.` and `..`, in no order.
    package static func readFolder(_ path: some SystemPath) throws(SystemError) -> [FolderEntry] {
        try readFolder(owning: try open(path, [.reading, .folder, .nonBlocking]).release(), path.pathBytes)
    }

    /// The same of an open folder, which stays open.
    package static func readFolder(_ descriptor: Int32, of path: [UInt8]) throws(SystemError) -> [FolderEntry] {
        try readFolder(owning: try duplicate(descriptor).release(), path)
    }

    private static func readFolder(owning descriptor: Int32, _ path: [UInt8]) throws(SystemError) -> [FolderEntry] {
        guard let folder = fdopendir(descriptor) else {
            let error = SystemError(call: "fdopendir", detail: path.printable, errno: Errno(errno))
            FileDescriptor(owning: descriptor).close()
            throw error
        }
        defer { closedir(folder) }
        var entries: [FolderEntry] = []
        while true {
            errno = 0
            guard let entry = readdir(folder) else {
                let code = errno
                if code == 0 { return entries }
                throw SystemError(call: "readdir", detail: path.printable, errno: Errno(code))
            }
            let name = nameBytes(entry)
            if name != Array(".".utf8), name != Array("..".utf8) {
                // d_type is the file type bits of a mode, shifted right by 12 (DTTOIF of dirent.h).
                let kind = FileStatus.Kind(mode: mode_t(entry.pointee.d_type) << 12)
                entries.append(FolderEntry(name: name, kind: kind, inode: UInt64(entry.pointee.d_ino)))
            }
        }
    }

    /// The name has the record's length, not that of the C array.
    private static func nameBytes(_ entry: UnsafeMutablePointer<dirent>) -> [UInt8] {
        let start = UnsafeRawPointer(entry).advanced(by: MemoryLayout<dirent>.offset(of: \.d_name) ?? 0)
        return Array(UnsafeRawBufferPointer(start: start, count: strlen(start.assumingMemoryBound(to: CChar.self))))
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
    package static func realPath(_ path: some SystemPath) throws(SystemError) -> [UInt8] {
        var real = [CChar](repeating: 0, count: Int(PATH_MAX))
        try call("realpath", path) { realpath($0, &real) == nil ? -1 : 0 }
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
