import CLinux
import Glibc

extension Linux {
    /// `memfd_create(2)`: a file in memory that holds these bytes, read from the start, sealed: nobody who gets it can
    /// change it for another who has it.
    package static func memfd(name: String, _ bytes: [UInt8]) throws(SystemError) -> FileDescriptor {
        let memory = FileDescriptor(owning: try call("memfd_create", name) { clinux_memfd_create($0) })
        do throws(SystemError) {
            try writeAll(memory.rawValue, bytes, from: 0)
            try call("fcntl F_ADD_SEALS") {
                fcntl(memory.rawValue, Int32(CLINUX_F_ADD_SEALS), Int32(CLINUX_SEAL_EVERYTHING))
            }
        } catch {
            memory.close()
            throw error
        }
        return memory
    }
}
