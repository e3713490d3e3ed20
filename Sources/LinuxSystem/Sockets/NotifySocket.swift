import CLinux
import Glibc

extension Linux {
    /// A datagram that says whose it is.
    package struct SignedDatagram: Hashable, Sendable {
        package var bytes: [UInt8]
        package var processID: Int32
        package var userID: UInt32
    }

    /// A socket that gets messages as `sd_notify(3)` sends them, with a name of the kernel's choice (`localEndpoint`).
    /// It does not block.
    package static func notifySocket() throws(SystemError) -> FileDescriptor {
        let socket = try socket(for: .unnamed, .datagram)
        // Without a name, the kernel gives an abstract one: five hexadecimal digits (`unix(7)`).
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let number = socket.rawValue
        do throws(SystemError) {
            try call("bind") {
                withUnsafePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        Glibc.bind(number, $0, socklen_t(MemoryLayout<sa_family_t>.size))
                    }
                }
            }
            var on: Int32 = 1
            try call("setsockopt") {
                setsockopt(number, SOL_SOCKET, SO_PASSCRED, &on, socklen_t(MemoryLayout<Int32>.size))
            }
            return socket
        } catch {
            socket.close()
            throw error
        }
    }

    /// `nil`: none waits. A longer one is cut.
    package static func receiveSigned(_ socket: Int32, limit: Int) throws(SystemError) -> SignedDatagram? {
        var (pid, user, failure): (Int32, UInt32, SystemError?) = (0, 0, nil)
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            guard let base = buffer.baseAddress else { return }
            do throws(SystemError) {
                count = try call("recvmsg") { clinux_receive_credentials(socket, base, limit, &pid, &user) }
            } catch {
                failure = error
            }
        }
        if let failure {
            guard failure.errno == .wouldBlock else { throw failure }
            return nil
        }
        return SignedDatagram(bytes: bytes, processID: pid, userID: user)
    }
}
