import Glibc

extension Linux {
    /// `flock(2)` LOCK_EX | LOCK_NB: the lock of an open file, which ends with its last descriptor, however the process
    /// ends. False: somebody else has it.
    package static func flock(_ descriptor: Int32) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try call("flock") { callFlock(descriptor, LOCK_EX | LOCK_NB) }
            return true
        } catch {
            if error.errno == .wouldBlock { return false }
            throw error
        }
    }

    /// `flock(2)` LOCK_UN: at once, even if a process that is just being started still has a copy of the descriptor.
    package static func unlock(_ descriptor: Int32) { _ = callFlock(descriptor, LOCK_UN) }

    /// `fsync(2)` of a file or a folder: what it holds is on the disk afterwards; of a folder, its names.
    package static func fsync(_ descriptor: Int32) throws(SystemError) {
        try call("fsync") { Glibc.fsync(descriptor) }
    }
}

/// Out here, and without its module's name, the function is meant and not the structure of `fcntl(2)`.
private func callFlock(_ descriptor: Int32, _ operation: Int32) -> Int32 { flock(descriptor, operation) }
