/// Internet addresses in text, in network byte order.
enum IPAddress {
    /// Four decimal numbers; none with a leading zero, which some read as octal.
    static func version4(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var address: [UInt8] = []
        for part in parts {
            guard (1...3).contains(part.count), part.allSatisfy(\.isDigit),
                part.count == 1 || part.first != UInt8(ascii: "0"),
                let byte = UInt8(String(decoding: part, as: UTF8.self))
            else { return nil }
            address.append(byte)
        }
        return address
    }

    /// RFC 4291, section 2.2: eight groups, one run of zeroes as `::`, the last two groups perhaps as version 4.
    static func version6(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let colon = UInt8(ascii: ":")
        guard let gap = text.indices.dropLast().first(where: { text[$0] == colon && text[$0 + 1] == colon }) else {
            return groups(text).flatMap { $0.count == 16 ? $0 : nil }
        }
        guard let head = groups(text[..<gap], endsAddress: false), let tail = groups(text[(gap + 2)...]),
            head.count + tail.count <= 14
        else {
            return nil
        }
        return head + Array(repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    private static func groups(_ text: ArraySlice<UInt8>, endsAddress: Bool = true) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count <= 8 else { return nil }
        var address: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if endsAddress, index == parts.count - 1, let last = version4(part) {
                address += last
                continue
            }
            guard (1...4).contains(part.count) else { return nil }
            var group = 0
            for byte in part {
                guard let digit = byte.hexadecimalValue else { return nil }
                group = group << 4 | Int(digit)
            }
            address += [UInt8(group >> 8), UInt8(group & 0xFF)]
        }
        return address
    }
}
