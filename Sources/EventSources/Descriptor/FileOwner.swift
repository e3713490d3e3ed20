import Engine
import LinuxSystem
import WatchFile

/// `SocketMode=`, `SocketUser=`, `SocketGroup=`: how the FIFO, socket file or message queue of a source stands, be it
/// made or found.
struct FileOwner: Sendable {
    var mode: UInt32
    var user: UInt32?
    var group: UInt32?

    /// Looks the names up, beside the core where there is a name to look up, and comes back to it.
    ///
    /// - Parameter then: an unknown name is ENOENT.
    static func of(
        _ id: SourceID, _ trigger: DescriptorTrigger, _ environment: SourceEnvironment,
        then: @escaping (Swift.Result<FileOwner, SystemError>) -> Void
    ) {
        if let known = known(trigger) { return then(.success(known)) }
        let (mode, user, group) = (trigger.mode, trigger.user, trigger.group)
        let then = QueueBound(then, to: environment.core)
        environment.slow.submit(id.description, inOrder: true) { [core = environment.core] in
            let owner = Swift.Result { () throws(SystemError) in
                FileOwner(
                    mode: mode,
                    user: try Self.id(user, "user") { name throws(SystemError) in try Linux.userID(named: name) },
                    group: try Self.id(group, "group") { name throws(SystemError) in try Linux.groupID(named: name) })
            }
            core.async { then.value(owner) }
        }
    }

    /// Without a name to look up.
    private static func known(_ trigger: DescriptorTrigger) -> FileOwner? {
        let (user, group) = (trigger.user.map { UInt32($0) }, trigger.group.map { UInt32($0) })
        if case .some(nil) = user { return nil }
        if case .some(nil) = group { return nil }
        return FileOwner(mode: trigger.mode, user: user ?? nil, group: group ?? nil)
    }

    private static func id(
        _ name: String?, _ what: String, _ lookUp: (String) throws(SystemError) -> UInt32?
    ) throws(SystemError) -> UInt32? {
        guard let name else { return nil }
        if let number = UInt32(name) { return number }
        if let found = try lookUp(name) { return found }
        throw SystemError(call: "look up", detail: "\(what) \(name)", errno: .noSuchFile)
    }

    /// Makes it so, where it is not, of what is open; `pathOnly` will do.
    func apply(to descriptor: Int32) throws(SystemError) {
        let status = try Linux.fstat(descriptor)
        // A new owner must not be let in before the mode is right, and giving the file away may clear bits of the mode.
        let isOwnedAsWanted = user ?? status.userID == status.userID && group ?? status.groupID == status.groupID
        if !isOwnedAsWanted { try Linux.fchown(descriptor, user: user, group: group) }
        if !isOwnedAsWanted || status.permissions != mode { try Linux.fchmod(descriptor, mode) }
    }

    /// A file that stands there already is taken over only from those who may have made it: root, watchd's user, and
    /// the one of `SocketUser=`. Anybody else could have opened it before, or made it to be told what is written there.
    ///
    /// - Parameter name: of it, for the error.
    func check(_ status: FileStatus, _ kind: FileStatus.Kind, _ name: [UInt8]) throws(SystemError) {
        if status.kind != kind {
            let detail = "\(name.printable), where \(status.kind.phrase) stands, which is left alone"
            throw SystemError(call: "open", detail: detail, errno: .fileExists)
        }
        guard ![0, Linux.effectiveUserID, user].contains(status.userID) else { return }
        let detail =
            "\(name.printable), which user \(status.userID) has made; remove it, or set SocketUser=\(status.userID)"
        throw SystemError(call: "open", detail: detail, errno: .notPermitted)
    }
}
