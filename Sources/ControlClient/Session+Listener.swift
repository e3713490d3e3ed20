import ControlInterface
import LinuxSystem
import Varlink

extension Session {
    /// Nobody is sent anything whom nobody has named: in a folder that all may write, anybody could listen.
    ///
    /// Root is trusted, and the own user; at the system's socket also the user whose folder it stands in, which only
    /// root can have made.
    func checkListener(_ client: Client) throws(Failure) {
        let listener = try attempt("a connection") { () throws(ClientError) in try client.peerUserID }
        let isSystem = socketPath == ControlSocketPath.system
        let owner = isSystem ? (try? Linux.stat(Self.systemFolder))?.userID : nil
        if Self.trusts(listener, user: Linux.effectiveUserID, folderOwner: owner) { return }
        throw Failure(
            message: "user \(listener) listens at \(socketPath), who is neither root nor you; nothing was sent",
            help: "if you trust that user, name the socket: --socket \(socketPath)", exitCode: .unreachable)
    }

    /// - Parameter folderOwner: of the system's folder; `nil`: the socket stands elsewhere.
    static func trusts(_ listener: UInt32, user: UInt32, folderOwner: UInt32?) -> Bool {
        listener == 0 || listener == user || listener == folderOwner
    }

    /// The owner of the watchd, for the header, where that is not the one that the user expects: root the system's,
    /// others their own.
    func owner(user: UInt32 = Linux.effectiveUserID) throws(Failure) -> String? {
        let client = try connect()
        let listener = try attempt("a connection") { () throws(ClientError) in try client.peerUserID }
        return Self.owner(listener, user: user, isSystem: socketPath == ControlSocketPath.system)
    }

    static func owner(_ listener: UInt32, user: UInt32, isSystem: Bool) -> String? {
        if isSystem { return user == 0 ? nil : "of the system" }
        return listener == user ? nil : listener == 0 ? "of root" : "of user \(listener)"
    }

    private static let systemFolder = String(ControlSocketPath.system.dropLast(Manager.name.utf8.count + 1))
}
