import CSystemd
import Glibc
package import LinuxSystem

/// A descriptor that the service manager passed at start.
package struct PassedDescriptor: Hashable, Sendable {
    /// `FileDescriptorName=`, else the name of the socket unit. Go by this, never by the order.
    package let name: String
    /// Open and close-on-exec; whoever takes it owns it.
    package let rawValue: Int32
}

package enum ListenSockets {
    /// `sd_listen_fds_with_names(3)`: what the manager passed to this process, for the taking; the second call gives
    /// nothing, since the environment is cleared of it. Call it before the first thread starts.
    ///
    /// - Throws: EINVAL for a `$LISTEN_FDS` that makes no sense, EBADF for descriptors that are not open.
    package static func take() throws(SystemError) -> [PassedDescriptor] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_listen_fds_with_names(1, &names)
        defer { free(names) }
        if count < 0 { throw SystemError(call: "sd_listen_fds_with_names", errno: Errno(-count)) }
        return (0..<count).map { index in
            let name = names?[Int(index)]
            defer { free(name) }
            // The first is SD_LISTEN_FDS_START.
            return PassedDescriptor(name: name.map { String(cString: $0) } ?? "", rawValue: 3 + index)
        }
    }
}
