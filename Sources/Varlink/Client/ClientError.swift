package import LinuxSystem

/// Why a call did not give what was asked for.
package enum ClientError: Error, Hashable, Sendable {
    /// Nobody answers at this socket.
    case cannotConnect(path: String, errno: Errno)
    /// The service answered with an error.
    case remote(ErrorReply)
    /// The service hung up before the last reply.
    case disconnected
    /// No reply within the time-out.
    case timedOut(milliseconds: Int)
    /// The reply is not as the protocol, or the method, says.
    case unexpectedReply(String)
    case system(SystemError)
}
