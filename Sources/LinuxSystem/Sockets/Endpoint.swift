import Glibc

/// The address of a socket.
package enum Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// A socket file.
    case unix([UInt8])
    /// A Unix socket without a file, by its name without the leading NUL.
    case abstract([UInt8])
    /// Four bytes in network order.
    case ipv4(address: [UInt8], port: UInt16)
    /// Sixteen bytes in network order.
    case ipv6(address: [UInt8], port: UInt16)
    /// A Unix socket that was never bound, or an address of another family.
    case unnamed

    /// As `systemd.socket(5)` writes it: `/run/a`, `@name`, `127.0.0.1:514`, `[::1]:514`; empty when unnamed.
    package var description: String {
        switch self {
        case .unix(let path): path.printable
        case .abstract(let name): "@" + name.printable
        case .ipv4(let address, let port): "\(Self.text(AF_INET, address)):\(port)"
        case .ipv6(let address, let port): "[\(Self.text(AF_INET6, address))]:\(port)"
        case .unnamed: ""
        }
    }

    private static func text(_ family: Int32, _ address: [UInt8]) -> String {
        // inet_ntop reads as many bytes as the family has.
        guard address.count == (family == AF_INET ? 4 : 16) else { return "?" }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(family, address, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    var family: Int32 {
        switch self {
        case .unix, .abstract, .unnamed: AF_UNIX
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        }
    }

    /// The address as the kernel has it, or `nil` when it does not fit: a path or name of more than 107 bytes, an IP
    /// address of the wrong length.
    var bytes: [UInt8]? {
        switch self {
        case .unix(let path):
            return path.count <= Self.longestName && !path.isEmpty && !path.contains(0)
                ? Self.withFamily(AF_UNIX, path + [0]) : nil
        case .abstract(let name):
            return name.count <= Self.longestName ? Self.withFamily(AF_UNIX, [0] + name) : nil
        case .ipv4(let address, let port):
            return address.count == 4
                ? Self.withFamily(AF_INET, Self.bigEndian(port) + address + [UInt8](repeating: 0, count: 8)) : nil
        case .ipv6(let address, let port):
            let none = [UInt8](repeating: 0, count: 4)  // flow information, scope
            return address.count == 16
                ? Self.withFamily(AF_INET6, Self.bigEndian(port) + none + address + none) : nil
        case .unnamed:
            return nil
        }
    }

    /// Reads a `struct sockaddr`.
    init(_ bytes: ArraySlice<UInt8>) {
        let rest = Array(bytes.dropFirst(2))
        let family =
            bytes.count < 2
            ? AF_UNSPEC
            : Int32(
                withUnsafeBytes(of: (bytes[bytes.startIndex], bytes[bytes.startIndex + 1])) {
                    $0.load(as: sa_family_t.self)
                })
        func port() -> UInt16 { UInt16(rest[0]) << 8 | UInt16(rest[1]) }
        switch family {
        case AF_UNIX where rest.first == 0 && rest.count > 1: self = .abstract(Array(rest.dropFirst()))
        case AF_UNIX where !rest.isEmpty: self = .unix(Array(rest.prefix { $0 != 0 }))
        case AF_INET where rest.count >= 6: self = .ipv4(address: Array(rest[2..<6]), port: port())
        case AF_INET6 where rest.count >= 22: self = .ipv6(address: Array(rest[6..<22]), port: port())
        default: self = .unnamed
        }
    }

    /// `sun_path` has 108 bytes, one of them for the NUL.
    private static let longestName = 107

    private static func withFamily(_ family: Int32, _ rest: [UInt8]) -> [UInt8] {
        withUnsafeBytes(of: sa_family_t(family)) { Array($0) } + rest
    }

    private static func bigEndian(_ port: UInt16) -> [UInt8] { [UInt8(port >> 8), UInt8(port & 0xFF)] }
}
