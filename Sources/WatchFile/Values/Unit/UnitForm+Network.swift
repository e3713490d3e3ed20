/// `SocketBindAllow=`, `NFTSet=`, and a pattern of lines.
extension UnitForm {
    /// AF_INET and AF_INET6; IPPROTO_TCP and IPPROTO_UDP; how many ports, and the first of them, 0 and 0 for any.
    static func socket(_ word: String) -> UnitProperty.Value? {
        var parts = word.split(separator: ":", omittingEmptySubsequences: false).map(String.init)[...]
        var (family, transport): (Int32, Int32) = (0, 0)
        if let number = ["ipv4": 2, "ipv6": 10][parts.first ?? ""] as Int32? {
            family = number
            parts = parts.dropFirst()
        }
        if let number = ["tcp": 6, "udp": 17][parts.first ?? ""] as Int32? {
            transport = number
            parts = parts.dropFirst()
        }
        // A family or a transport alone is about all of their ports.
        let text = parts.popFirst() ?? "any"
        guard parts.isEmpty, let (count, first) = ports(text) else { return nil }
        return .structure([.integer(family), .integer(transport), .short(count), .short(first)])
    }

    private static func ports(_ text: String) -> (count: UInt16, first: UInt16)? {
        if text == "any" { return (0, 0) }
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0) }
        guard (1...2).contains(ends.count), let first = ends[0], let last = ends.last ?? nil, first > 0, first <= last
        else { return nil }
        return (last - first + 1, first)
    }

    /// `NFTSetSource` of systemd, and NFPROTO_… of `linux/netfilter.h`.
    static func netfilterSet(_ word: String) -> UnitProperty.Value? {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        let sources: [String: Int32] = ["cgroup": 3, "user": 4, "group": 5]
        let families: [String: Int32] = ["inet": 1, "ip": 2, "arp": 3, "netdev": 5, "bridge": 7, "ip6": 10]
        guard parts.count == 4, !parts.contains(""), let source = sources[parts[0]], let family = families[parts[1]]
        else { return nil }
        return .structure([.integer(source), .integer(family), .text(parts[2]), .text(parts[3])])
    }

    /// Behind a `~` are lines that are left out.
    static func linePattern(_ text: String) -> UnitProperty.Value? {
        let isDenied = text.hasPrefix("~")
        let pattern = isDenied ? String(text.dropFirst()) : text
        guard !pattern.isEmpty else { return nil }
        return .array("(bs)", [.structure([.flag(!isDenied), .text(pattern)])])
    }
}
