import LinuxSystem

/// A file of the state folder beside the store's own, read and replaced as a whole. It is believed as those are: only
/// root and the user of watchd can have put it there. Every call may block on the disk.
package struct KeptFile: Sendable {
    /// Bytes of one.
    package static let largest = 64 << 20

    /// The texts of the configuration that was last in force.
    package static func configuration(of folder: [UInt8]) -> KeptFile {
        KeptFile(folder: folder, path: folder + configurationName.utf8)
    }

    static let configurationName = "/watchd.configuration"

    private let folder: [UInt8]
    package let path: [UInt8]

    /// `nil`: there is none.
    package func read() throws(StoreError) -> [UInt8]? {
        let files = StoreFiles(folder: folder)
        guard try files.status(folder) != nil else { return nil }
        try files.inspect()
        do throws(SystemError) {
            let file = try Linux.open(path, [.reading, .noFollow, .nonBlocking])
            return try file.use { descriptor throws(SystemError) in
                try Linux.readToEnd(descriptor, limit: Self.largest)
            }
        } catch {
            if error.errno == .noSuchFile { return nil }
            throw .unavailable(path: path, detail: "cannot be read: \(error.errno)")
        }
    }

    /// In one step: after whatever end the old content stands there, or the new one. Equal content is not written
    /// again.
    package func replace(with bytes: [UInt8]) throws(StoreError) {
        if try read() == bytes { return }
        let (files, draft) = (StoreFiles(folder: folder), path + ".new".utf8)
        guard bytes.count <= Self.largest else {
            throw .unavailable(path: path, detail: "larger than \(Self.largest >> 20) MiB")
        }
        try? Linux.unlink(draft)
        do throws(SystemError) {
            let file = try Linux.open(draft, [.writing, .creating, .exclusive], mode: 0o600)
            try file.use { descriptor throws(SystemError) in
                try Linux.writeAll(descriptor, bytes)
                try Linux.fsync(descriptor)
            }
            try Linux.rename(draft, to: path)
        } catch {
            // On a full disk it would take the room that others need.
            try? Linux.unlink(draft)
            throw StoreError(error, path)
        }
        try files.sync(folder)
    }
}
