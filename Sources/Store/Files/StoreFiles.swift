import LinuxSystem

/// The files of a store, by name.
struct StoreFiles {
    let folder: [UInt8]
    var database: [UInt8] { folder + "/watchd.db".utf8 }
    /// SQLite's write-ahead log, and the index of it that its connections share.
    var log: [UInt8] { database + "-wal".utf8 }
    var index: [UInt8] { database + "-shm".utf8 }
    var lock: [UInt8] { folder + "/watchd.lock".utf8 }
    /// The file that takes the place of a damaged one, once it is complete.
    var replacement: [UInt8] { database + ".new".utf8 }
    /// Empty: the file turned out to be damaged while it was in use, and is to be replaced.
    var suspicion: [UInt8] { database + ".suspect".utf8 }

    func exists(_ path: [UInt8]) -> Bool { (try? Linux.lstat(path)) != nil }

    /// Makes the folder, and those above it, where they are missing, and then inspects them.
    func prepareFolder() throws(StoreError) {
        for end in folder.indices.dropFirst() where folder[end] == UInt8(ascii: "/") {
            try make(Array(folder[..<end]), mode: 0o755)
        }
        try make(folder, mode: 0o700)
        try inspect()
    }

    private func make(_ path: [UInt8], mode: UInt32) throws(StoreError) {
        if let status = try status(path) {
            guard status.kind == .folder else { throw .notAFolder(path: path) }
            return
        }
        do throws(SystemError) { try Linux.mkdir(path, mode: mode) } catch { throw StoreError(error, path) }
        try sync(Self.parent(path))
    }

    private static func parent(_ path: [UInt8]) -> [UInt8] {
        guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return Array(".".utf8) }
        return slash == 0 ? Array("/".utf8) : Array(path[..<slash])
    }

    /// Makes the file if there is none, and returns how many bytes it has.
    func prepareDatabase() throws(StoreError) -> Int64 {
        guard let status = try status(database) else {
            try touch(database)
            return 0
        }
        return status.size
    }

    /// Makes an empty file that only its owner can read, and the name of it safe.
    func touch(_ path: [UInt8]) throws(StoreError) {
        do throws(SystemError) {
            try Linux.open(path, [.writing, .creating, .exclusive], mode: 0o600).close()
        } catch {
            if error.errno != .fileExists { throw StoreError(error, path) }
        }
        try sync(folder)
    }

    /// After files were made, renamed or removed in it: makes that safe.
    func sync(_ folder: [UInt8]) throws(StoreError) {
        do throws(SystemError) {
            try Linux.open(folder, [.reading, .folder]).use { descriptor throws(SystemError) in
                try Linux.fsync(descriptor)
            }
        } catch {
            throw StoreError(error, folder)
        }
    }

    func rename(_ from: [UInt8], _ target: [UInt8]) throws(StoreError) {
        do throws(SystemError) { try Linux.rename(from, to: target) } catch { throw StoreError(error, from) }
    }

    /// `nil`: nothing is there.
    func status(_ path: [UInt8]) throws(StoreError) -> FileStatus? {
        do throws(SystemError) {
            return try Linux.stat(path)
        } catch {
            switch error.errno {
            case .noSuchFile: return nil
            case .notFolder: throw .notAFolder(path: Self.parent(path))
            default: throw StoreError(error, path)
            }
        }
    }

    /// Which file it is: another one may come to stand under the same name.
    struct Place: Equatable {
        var device: UInt64
        var inode: UInt64
    }

    func place() throws(StoreError) -> Place {
        guard let status = try? Linux.stat(database) else { throw .gone(path: database) }
        return Place(device: status.device, inode: status.inode)
    }
}
