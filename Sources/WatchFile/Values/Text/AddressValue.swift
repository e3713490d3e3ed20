/// Socket addresses as `systemd.socket(5)` writes them: `/path`, `@name`, `1.2.3.4:PORT`, `[::1]:PORT`, `PORT`.
enum AddressValue {
    static func read(_ text: SourceText, key: Key, _ problems: inout Problems) -> SocketAddress? {
        switch text.bytes.first {
        case UInt8(ascii: "/"), UInt8(ascii: "\""), UInt8(ascii: "'"): return unix(text, key: key, &problems)
        case UInt8(ascii: "@"): return abstract(text, &problems)
        default: return internet(text, key: key, &problems)
        }
    }

    private static func unix(_ text: SourceText, key: Key, _ problems: inout Problems) -> SocketAddress? {
        guard let path = PathValue.read(text, key: key, &problems) else { return nil }
        guard path.count <= PathValue.maximumSocketLength else {
            problems.error("the path of a socket has at most \(PathValue.maximumSocketLength) bytes", at: text)
            return nil
        }
        return .unix(path)
    }

    private static func abstract(_ text: SourceText, _ problems: inout Problems) -> SocketAddress? {
        guard let word = Word.whole(text, &problems) else { return nil }
        let name = Array(word.bytes.dropFirst())
        guard (1...PathValue.maximumSocketLength).contains(name.count) else {
            problems.error(
                "the name of a socket has 1 to \(PathValue.maximumSocketLength) bytes after the @", at: text)
            return nil
        }
        return .abstract(name)
    }

    private static func internet(_ text: SourceText, key: Key, _ problems: inout Problems) -> SocketAddress? {
        guard TextCheck.isText(text, &problems) else { return nil }
        let bytes = text.bytes
        if let port = port(bytes) { return .ipv6(address: Array(repeating: 0, count: 16), port: port) }
        if bytes.starts(with: "vsock:".utf8) {
            problems.error("vsock: is not supported by this version", at: text)
            return nil
        }
        if let colon = bytes.lastIndex(of: UInt8(ascii: ":")), let port = port(bytes[(colon + 1)...]) {
            let host = bytes[..<colon]
            if let address = IPAddress.version4(host) { return .ipv4(address: address, port: port) }
            if host.first == UInt8(ascii: "["), host.last == UInt8(ascii: "]"), host.count > 2,
                let address = IPAddress.version6(host.dropFirst().dropLast())
            {
                return .ipv6(address: address, port: port)
            }
        }
        problems.error(
            "\(text.shown) is not an address: /path, @name, 1.2.3.4:PORT, [::1]:PORT or PORT, with a port from 1 to 65535",
            at: text)
        return nil
    }

    private static func port(_ bytes: ArraySlice<UInt8>) -> UInt16? {
        guard (1...5).contains(bytes.count), bytes.allSatisfy(\.isDigit) else { return nil }
        let number = UInt16(String(decoding: bytes, as: UTF8.self))
        return number == 0 ? nil : number
    }
}
