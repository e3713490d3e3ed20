import LinuxSystem

enum MessageQueue {
    /// Opens a queue for both directions, and makes it first if it is not there.
    static func open(_ name: [UInt8], _ owner: FileOwner) throws(SystemError) -> FileDescriptor {
        let made: FileDescriptor
        do throws(SystemError) {
            // Nobody gets at it before it is as it should be.
            made = try Linux.makeMessageQueue(name, mode: owner.mode & 0o600)
        } catch  where error.errno == .fileExists {
            return try find(name, owner)
        }
        do throws(SystemError) {
            try owner.apply(to: made.rawValue)
        } catch {
            made.close()
            // Else the next try would find it standing.
            try? Linux.unlinkMessageQueue(name)
            throw error
        }
        return made
    }

    private static func find(_ name: [UInt8], _ owner: FileOwner) throws(SystemError) -> FileDescriptor {
        let found = try Linux.openMessageQueue(name)
        do throws(SystemError) {
            // On its file system a queue is a file.
            try owner.check(try Linux.fstat(found.rawValue), .regular, name)
            try owner.apply(to: found.rawValue)
        } catch {
            found.close()
            throw error
        }
        return found
    }
}
