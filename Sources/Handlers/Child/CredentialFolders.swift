import Engine
import LinuxSystem
import WatchFile

/// `Credential=`: credentials that the service manager has given to watchd's service (`systemd.exec(5)`:
/// `LoadCredential=`), in a folder of each run that asks for some.
///
///     io.watchd.Manager.credentials/      beside the control socket, in memory; nobody else may write there
///       run-OPERATION-ATTEMPT/            of the user that the run is of, who may read it; -PART as for cgroups
///         NAME
///
/// A folder goes with its run, and those that a killed watchd has left go at the next start.
package struct CredentialFolders: Sendable {
    /// Bytes of one credential: the service manager takes no larger ones.
    private static let largest = 1 << 20
    /// The variable by which a service, and here a run, finds its credentials.
    static let variable = "CREDENTIALS_DIRECTORY"

    /// `nil`: there is no place for them.
    private let base: [UInt8]?

    /// - Parameter socket: the path of the control socket.
    package init(beside socket: [UInt8]) {
        base = socket.first == UInt8(ascii: "/") ? socket + ".credentials".utf8 : nil
    }

    /// No run can have any.
    package init() { base = nil }

    private func folder(_ run: RunID) -> [UInt8]? {
        base.map { $0 + [UInt8(ascii: "/")] + Containment.name(of: run).utf8 }
    }

    /// Makes the folder of a run, with these credentials; may block. `nil`: it asks for none.
    ///
    /// - Parameter identity: the run's; `nil`: watchd's own.
    func make(
        _ names: [String], of run: RunID, for identity: ProcessAttributes.Identity?
    ) throws(Child.Failure) -> [UInt8]? {
        guard let first = names.first else { return nil }
        guard let source = Linux.environment(Self.variable), source.first == UInt8(ascii: "/") else {
            throw Child.Failure(
                reason:
                    "Credential=\(first): watchd's service has no credentials; its unit needs LoadCredential=\(first):PATH"
            )
        }
        guard let base, let folder = folder(run) else {
            throw Child.Failure(reason: "Credential=\(first): there is no folder for it beside the control socket")
        }
        do throws(SystemError) {
            try prepare(base)
            // Of an earlier command of the run, or of an earlier watchd.
            _ = remove(run)
            try Linux.mkdir(folder, mode: 0o700)
        } catch {
            throw Child.Failure(error)
        }
        do {
            for name in names { try copy(name, from: source, to: folder, for: identity) }
            if try !Self.isOwned(Linux.lstat(folder), by: identity) {
                try Linux.chown(folder, user: identity?.user, group: identity?.group)
            }
            try Linux.chmod(folder, 0o500)
            return folder
        } catch {
            _ = remove(run)
            throw error as? Child.Failure ?? (error as? SystemError).map { Child.Failure($0) }
                ?? Child.Failure(reason: "\(error)")
        }
    }

    /// The folder of all of them, where nobody else can put one.
    private func prepare(_ base: [UInt8]) throws(SystemError) {
        do throws(SystemError) {
            try Linux.mkdir(base, mode: 0o700)
            // Users pass through to their own folder; nobody lists it.
            try Linux.chmod(base, 0o711)
        } catch  where error.errno == .fileExists {
            let status = try Linux.lstat(base)
            guard status.kind == .folder, status.userID == Linux.effectiveUserID, status.permissions & 0o022 == 0
            else { throw SystemError(call: "mkdir", detail: base.printable, errno: .notPermitted) }
        }
    }

    private func copy(
        _ name: String, from source: [UInt8], to folder: [UInt8], for identity: ProcessAttributes.Identity?
    ) throws {
        let (path, target) = (source + "/\(name)".utf8, folder + "/\(name)".utf8)
        let content: [UInt8]
        do throws(SystemError) {
            content = try Linux.open(path, [.reading, .nonBlocking, .noControllingTerminal]).use {
                number throws(SystemError) in
                try Linux.readToEnd(number, limit: Self.largest, name: path)
            }
        } catch  where error.errno == .noSuchFile {
            throw Child.Failure(
                reason:
                    "Credential=\(name): watchd's service has no such credential; its unit needs LoadCredential=\(name):PATH"
            )
        } catch {
            throw Child.Failure(reason: "Credential=\(name): \(error)", isTransient: error.errno.isTransient)
        }
        try Linux.open(target, [.writing, .creating, .exclusive], mode: 0o400).use { number throws(SystemError) in
            try Linux.writeAll(number, content)
            try Linux.fchmod(number, 0o400)
            if try Self.isOwned(Linux.fstat(number), by: identity) { return }
            try Linux.fchown(number, user: identity?.user, group: identity?.group)
        }
    }

    /// Then nothing is asked for: the calls are refused even so where a service has no privileges (hardened.conf).
    private static func isOwned(_ status: FileStatus, by identity: ProcessAttributes.Identity?) -> Bool {
        identity?.user ?? status.userID == status.userID && identity?.group ?? status.groupID == status.groupID
    }

    /// Takes away the folder of a run. False: something is left, which the run has put there.
    func remove(_ run: RunID) -> Bool { folder(run).map { remove($0) } ?? true }

    /// What the run's user has made there is not followed: the folder is taken from the user first, and only names in it
    /// are removed.
    private func remove(_ folder: [UInt8]) -> Bool {
        guard let status = try? Linux.lstat(folder) else { return true }
        guard status.kind == .folder else { return (try? Linux.unlink(folder)) != nil }
        try? Linux.chown(folder, user: Linux.effectiveUserID, group: nil)
        try? Linux.chmod(folder, 0o700)
        for entry in (try? Linux.readFolder(folder)) ?? [] {
            let path = folder + [UInt8(ascii: "/")] + entry.name
            if (try? Linux.unlink(path)) == nil { try? Linux.rmdir(path) }
        }
        return (try? Linux.rmdir(folder)) != nil
    }

    /// Takes away the folders of runs that are none of these; may block.
    ///
    /// - Returns: the folders that are left.
    func sweep(but runs: Set<RunID>) -> [String] {
        guard let base, let entries = try? Linux.readFolder(base) else { return [] }
        let stale = entries.map { String(decoding: $0.name, as: UTF8.self) }.filter { name in
            Containment.run(named: name).map { !runs.contains($0) } ?? false
        }
        let left = stale.filter { !remove(base + "/\($0)".utf8) }
        if left.isEmpty, runs.isEmpty { try? Linux.rmdir(base) }
        return left
    }
}
