import LinuxSystem

/// The process at the other end of a connection, and its rights; known from the kernel, never from a message.
struct Peer: Sendable {
    enum Role: Equatable, Sendable {
        /// Names, states, counts and times; more of the commands of this user.
        case reader(UInt32)
        /// Everything: root, the daemon's own user, the group `watchd`.
        case administrator
    }

    let userID: UInt32
    let processID: Int32
    let groupID: UInt32
    /// The supplementary ones; `nil`: the kernel does not tell them.
    let groups: [UInt32]?
    let role: Role
    /// Counts the connections of this daemon.
    let connection: Int

    /// - Parameter group: the number of the group `watchd`, where there is one; asked for only where the role depends on
    ///   it.
    init(_ socket: Int32, group: @autoclosure () -> UInt32?, connection: Int) throws(SystemError) {
        self.connection = connection
        let credentials = try Linux.peerCredentials(socket)
        userID = credentials.userID
        processID = credentials.processID
        groupID = credentials.groupID
        let groups = try? Linux.peerGroups(socket)
        self.groups = groups
        if userID == 0 || userID == Linux.effectiveUserID {
            role = .administrator
        } else if let group = group(), credentials.groupID == group || groups?.contains(group) ?? false {
            role = .administrator
        } else {
            role = .reader(userID)
        }
    }

    /// - Parameter role: of somebody who has no socket.
    init(userID: UInt32, role: Role) {
        (self.userID, self.role) = (userID, role)
        (processID, groupID, groups, connection) = (Linux.processID, 0, [], 0)
    }

    /// The calls of this peer are not delayed by those of others.
    var comesFirst: Bool { userID == 0 || userID == Linux.effectiveUserID }

    /// For suspensions and the log.
    var name: String { userID == 0 ? "root" : "user \(userID)" }
}
