/// The file of a Unix socket that was bound to a path: what stands there may be another's by the time it is to go.
package struct SocketFile: Sendable {
    package let path: [UInt8]
    private let device: UInt64
    private let inode: UInt64

    /// The kind of file at the path now.
    ///
    /// - Throws: ENOTSOCK where that is no socket; a link is none.
    package init(at path: [UInt8]) throws(SystemError) {
        let status = try Linux.lstat(path)
        if status.kind != .socket { throw SystemError(call: "bind", detail: path.printable, errno: .notSocket) }
        self.path = path
        (device, inode) = (status.device, status.inode)
    }

    /// Removes it, if it is still the one.
    package func remove() {
        guard let status = try? Linux.lstat(path), status.device == device, status.inode == inode else { return }
        try? Linux.unlink(path)
    }

    /// Binds a socket to a path; nobody but the user may connect before `prepare` has been through.
    ///
    /// - Parameter prepare: sets mode and owner of the file by its descriptor, which is open with `pathOnly`; in a
    ///   folder of somebody else a link could stand at the path by then, or another file.
    package static func bind(
        _ socket: Int32, to path: [UInt8], prepare: (Int32) throws(SystemError) -> Void
    ) throws(SystemError) -> SocketFile {
        // The file has the mode of the socket, cut by the umask (`unix(7)`).
        try Linux.fchmod(socket, 0o600)
        try Linux.bind(socket, .unix(path))
        let file = try SocketFile(at: path)
        do throws(SystemError) {
            try Linux.open(path, [.pathOnly, .noFollow]).use { place throws(SystemError) in
                let status = try Linux.fstat(place)
                guard status.device == file.device, status.inode == file.inode, status.links == 1 else {
                    throw SystemError(call: "bind", detail: path.printable, errno: .fileExists)
                }
                try prepare(place)
            }
        } catch {
            file.remove()
            throw error
        }
        return file
    }
}
