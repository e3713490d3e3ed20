import Engine
import LinuxSystem
import WatchFile

/// `SocketMode=`, `SocketUser=`, `SocketGroup=`: how a file stands that watchd makes.
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

    func apply(to path: [UInt8]) throws(SystemError) {
        // Who is given it must not be let in before the mode is right, and giving it away may clear bits of the mode.
        if user != nil || group != nil { try Linux.chown(path, user: user, group: group) }
        try Linux.chmod(path, mode)
    }

    /// The same of what is open.
    func apply(to descriptor: Int32) throws(SystemError) {
        if user != nil || group != nil { try Linux.fchown(descriptor, user: user, group: group) }
        try Linux.fchmod(descriptor, mode)
    }
}
