import LinuxSystem

// The files in the state folder decide what watchd runs. So nothing of it is opened before it is sure that only root
// and the user of watchd can have put it there.
extension StoreFiles {
    /// Everything that is opened in the folder.
    private var opened: [[UInt8]] {
        [database, log, index, database + "-journal".utf8, lock, replacement, replacement + "-journal".utf8, suspicion]
            + [folder + Store.instanceName.utf8, folder + KeptFile.configurationName.utf8]
    }

    /// Looks at the folder, the way to it, and each file that is opened in it. Opens nothing.
    ///
    /// - Throws: what somebody else could have put there, by name.
    func inspect() throws(StoreError) {
        guard let status = try status(folder) else { throw .gone(path: database) }
        try inspectWay(to: folder)
        guard status.kind == .folder else { throw .notAFolder(path: folder) }
        try refuse(PathTrust().flaw(of: status), folder)
        for file in opened { try inspect(file: file) }
    }

    private func inspect(file: [UInt8]) throws(StoreError) {
        let status: FileStatus
        do throws(SystemError) {
            status = try Linux.lstat(file)
        } catch {
            if error.errno == .noSuchFile { return }
            throw StoreError(error, file)
        }
        try inspect(file, status)
    }

    /// To be asked of an open file too: what is open stays what it is.
    func inspect(_ file: [UInt8], _ status: FileStatus) throws(StoreError) {
        guard status.kind == .regular else { throw .notAFile(path: file) }
        try refuse(PathTrust().flaw(of: status), file)
        if status.links > 1 { throw .linked(path: file) }
    }

    /// Whether others could put something else at a path. A group that may write a folder above it may be a user's own,
    /// as homes often have it; to root's daemon it is somebody else.
    private func inspectWay(to path: [UInt8]) throws(StoreError) {
        let trust = PathTrust(refusedPermissions: Linux.effectiveUserID == 0 ? 0o022 : 0o002)
        let finding: PathTrust.Finding?
        do throws(SystemError) { finding = try trust.flaw(above: path) } catch { throw StoreError(error, path) }
        if let finding { try refuse(finding.flaw, finding.path) }
    }

    private func refuse(_ flaw: PathTrust.Flaw?, _ path: [UInt8]) throws(StoreError) {
        switch flaw {
        case .owner(let owner): throw .foreign(path: path, owner: owner)
        case .writable: throw .writable(path: path)
        case nil: return
        }
    }
}
