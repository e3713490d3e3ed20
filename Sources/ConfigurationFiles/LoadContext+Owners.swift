import LinuxSystem
package import WatchFile

extension LoadContext {
    /// Tells of users and groups that there are not. Asks the name service, which may block.
    package mutating func lookUpOwners() {
        isUser = { name in Self.isKnown { () throws(SystemError) in try Linux.userID(named: name) } }
        isGroup = { name in Self.isKnown { () throws(SystemError) in try Linux.groupID(named: name) } }
        userNames = { Linux.names(inDatabase: "/etc/passwd") }
        groupNames = { Linux.names(inDatabase: "/etc/group") }
    }

    /// Also where the name service cannot be asked: nobody knows then.
    private static func isKnown(_ lookUp: () throws(SystemError) -> UInt32?) -> Bool {
        do throws(SystemError) {
            return try lookUp() != nil
        } catch {
            return true
        }
    }
}
