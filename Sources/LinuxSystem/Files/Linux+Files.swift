import CLinux
import Glibc

extension Linux {
    /// `open(2)`. `mode` is for a file that is made, and is cut by the umask.
    package static func open(
        _ path: some SystemPath, _ options: OpenOptions = .reading, mode: UInt32 = 0o666
    ) throws(SystemError) -> FileDescriptor {
        FileDescriptor(
            owning: try call("open", path) { Glibc.open($0, options.rawValue | O_CLOEXEC, mode_t(mode)) })
    }

    /// `read(2)`: how many bytes; 0 at the end, or at hang-up. EAGAIN is thrown (`Errno.wouldBlock`).
    package static func read(
        _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Int {
        try call("read") { Glibc.read(descriptor, buffer.baseAddress, buffer.count) }
    }

    /// `read(2)` into a new array; empty at the end.
    package static func read(_ descriptor: Int32, atMost limit: Int) throws(SystemError) -> [UInt8] {
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            do throws(SystemError) {
                count = try read(descriptor, into: UnsafeMutableRawBufferPointer(buffer))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// `read(2)` of bytes that are known to be there and are not wanted any more: how many there were.
    package static func skip(_ descriptor: Int32, _ count: Int) throws(SystemError) -> Int {
        // The bytes there are taken out at once, whatever ends this process: more fits into no pipe.
        try withUnsafeTemporaryAllocation(byteCount: min(max(count, 1), 1 << 20), alignment: 16) {
            buffer throws(SystemError) in
            var skipped = 0
            while skipped < count {
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, count - skipped)])
                let read = try read(descriptor, into: part)
                if read == 0 { break }
                skipped += read
            }
            return skipped
        }
    }

    /// `write(2)`: how many bytes were taken, which may be fewer.
    package static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        try call("write") { Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
    }

    /// `write(2)` of what stands behind the first bytes, once.
    package static func write(_ descriptor: Int32, _ bytes: [UInt8], from start: Int) throws(SystemError) -> Int {
        try call("write") {
            bytes.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
                return Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
        }
    }

    /// `write(2)` until all is written; for descriptors that block.
    package static func writeAll(_ descriptor: Int32, _ bytes: some Sequence<UInt8>) throws(SystemError) {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = try call("write") { rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } }
            rest = rest.dropFirst(count)
        }
    }

    /// `pwrite(2)` until everything is written: who reads the file next begins where it stood.
    static func writeAll(_ descriptor: Int32, _ bytes: some Sequence<UInt8>, from offset: Int) throws(SystemError) {
        var (rest, offset) = (Array(bytes)[...], offset)
        while !rest.isEmpty {
            let count = try call("pwrite") {
                rest.withUnsafeBytes { Glibc.pwrite(descriptor, $0.baseAddress, $0.count, offset) }
            }
            rest = rest.dropFirst(count)
            offset += count
        }
    }

    /// A whole small file, `/proc` files included; more than `limit` bytes is EFBIG. Blocks as the file does.
    package static func readFile(_ path: some SystemPath, limit: Int = 1 << 20) throws(SystemError) -> [UInt8] {
        try open(path, .reading).use { descriptor throws(SystemError) in
            try readToEnd(descriptor, limit: limit, name: path)
        }
    }

    /// Reads an open file to its end; more than `limit` bytes is EFBIG. `name` is for the error.
    package static func readToEnd(
        _ descriptor: Int32, limit: Int, name: some SystemPath = ""
    ) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let part = try read(descriptor, atMost: min(limit + 1 - bytes.count, 65_536))
            if part.isEmpty { return bytes }
            bytes += part
            if bytes.count > limit {
                throw SystemError(call: "read", detail: name.pathBytes.printable, errno: .fileTooLarge)
            }
        }
    }

    /// Reads an open file to its end, or so many bytes of it.
    package static func readPrefix(_ descriptor: Int32, atMost limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let part = try read(descriptor, atMost: min(limit - bytes.count, 65_536))
            if part.isEmpty { break }
            bytes += part
        }
        return bytes
    }

    /// `fstat(2)`.
    package static func fstat(_ descriptor: Int32) throws(SystemError) -> FileStatus {
        var status = Glibc.stat()
        try call("fstat") { Glibc.fstat(descriptor, &status) }
        return FileStatus(status)
    }

    /// `stat(2)`: follows symbolic links.
    package static func stat(_ path: some SystemPath) throws(SystemError) -> FileStatus {
        var status = Glibc.stat()
        try call("stat", path) { fstatat(AT_FDCWD, $0, &status, 0) }
        return FileStatus(status)
    }

    /// `lstat(2)`: of the link itself.
    package static func lstat(_ path: some SystemPath) throws(SystemError) -> FileStatus {
        var status = Glibc.stat()
        try call("lstat", path) { Glibc.lstat($0, &status) }
        return FileStatus(status)
    }

    /// Whether something is mounted at this path, or where a symbolic link there leads (`statx(2)`
    /// STATX_ATTR_MOUNT_ROOT); false as well where that cannot be known.
    package static func isMountPoint(_ path: some SystemPath) -> Bool {
        (try? call("statx", path) { clinux_is_mount_point($0) }) == 1
    }

    /// Returns when the file system of this path, and of what a symbolic link there leads to, has answered for itself
    /// and not from what the kernel knows of it (`statx(2)` AT_STATX_FORCE_SYNC); never, if it hangs. Errors are
    /// answers too.
    package static func waitForAnswer(of path: some SystemPath) {
        _ = try? call("statx", path) { clinux_ask($0) }
    }

    /// The questions of `access(2)`.
    package enum Access: Sendable {
        case exists, reading, writing, executing
    }

    /// `access(2)`, by the real ids: throws EACCES where it is not allowed.
    package static func access(_ path: some SystemPath, _ access: Access) throws(SystemError) {
        let mode =
            switch access {
            case .exists: F_OK
            case .reading: R_OK
            case .writing: W_OK
            case .executing: X_OK
            }
        try call("access", path) { Glibc.access($0, mode) }
    }

    /// `chmod(2)`.
    package static func chmod(_ path: some SystemPath, _ permissions: UInt32) throws(SystemError) {
        try call("chmod", path) { Glibc.chmod($0, permissions) }
    }

    /// `fchmod(2)`, also of what was opened with `pathOnly`.
    package static func fchmod(_ descriptor: Int32, _ permissions: UInt32) throws(SystemError) {
        try call("fchmod") { clinux_chmod_place(descriptor, permissions) }
    }

    /// `chown(2)`; `nil` leaves an id as it is.
    package static func chown(_ path: some SystemPath, user: UInt32?, group: UInt32?) throws(SystemError) {
        try call("chown", path) { Glibc.chown($0, user ?? .max, group ?? .max) }
    }

    /// `pread(2)` into a new array, without moving the file's offset; empty at the end.
    package static func read(_ descriptor: Int32, atMost limit: Int, from offset: Int64) throws(SystemError) -> [UInt8]
    {
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            do throws(SystemError) {
                count = try call("pread") { pread(descriptor, buffer.baseAddress, limit, off_t(offset)) }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// `pwrite(2)`, without moving the file's offset: how many bytes were taken, which may be fewer.
    @discardableResult
    package static func write(_ descriptor: Int32, _ bytes: [UInt8], at offset: Int64) throws(SystemError) -> Int {
        try call("pwrite") { bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) } }
    }

    /// `fchown(2)`, also of what was opened with `pathOnly`; `nil` leaves an id as it is.
    package static func fchown(_ descriptor: Int32, user: UInt32?, group: UInt32?) throws(SystemError) {
        try call("fchown") { clinux_chown_place(descriptor, user ?? .max, group ?? .max) }
    }

    /// `umask(2)`, of the whole process; the mask that was.
    @discardableResult
    package static func umask(_ mask: UInt32) -> UInt32 { Glibc.umask(mask) }
}
