import LinuxSystem

enum MessageQueue {
    /// Opens a queue for both directions, and makes it first if it is not there.
    static func open(_ name: [UInt8], _ owner: FileOwner) throws(SystemError) -> FileDescriptor {
        let made: FileDescriptor
        do throws(SystemError) {
            // Nobody gets at it before it is as it should be.
            made = try Linux.makeMessageQueue(name, mode: owner.mode & 0o600)
        } catch  where error.errno == .fileExists {
            // Somebody else's queue keeps its own.
            return try Linux.openMessageQueue(name)
        }
        do throws(SystemError) {
            try owner.apply(to: made.rawValue)
        } catch {
            made.close()
            // Else the next try would find it standing, and leave it as it is.
            try? Linux.unlinkMessageQueue(name)
            throw error
        }
        return made
    }
}
