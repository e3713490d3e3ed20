import LinuxSystem
import WatchFile

/// `network-online`: there is a default route, of IPv4 or IPv6, over a link that is up. Woken by rtnetlink. Confined to
/// its context.
final class NetworkProbe: HoldProbe {
    /// NETLINK_ROUTE; RTMGRP_LINK, RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_ROUTE (`rtnetlink(7)`).
    private static let family: Int32 = 0
    private static let groups: UInt32 = 0x1 | 0x40 | 0x400

    private let environment: HoldEnvironment
    private let tell: (String?) -> Void
    private var listener: NetlinkListener?

    init(_ environment: HoldEnvironment, _ tell: @escaping (String?) -> Void) {
        (self.environment, self.tell) = (environment, tell)
    }

    func begin() {
        listener = NetlinkListener(environment, family: Self.family, groups: Self.groups) { [weak self] in self?.look()
        }
        look()
    }

    func end() {
        listener?.end()
        listener = nil
    }

    private func look() { tell(Self.obstacle(proc: environment.proc, sys: environment.sys)) }

    static func obstacle(proc: String, sys: String) -> String? {
        let links = defaultLinks(proc)
        guard let first = links.first else { return "there is no default route" }
        // A link of a kind that does not know whether it is up says `unknown`.
        let isUp = links.contains { link in
            let state = (try? Linux.readFile("\(sys)/class/net/\(link)/operstate", limit: 64)) ?? []
            return !["down", "lowerlayerdown", "notpresent", "dormant"].contains {
                state.elementsEqual("\($0)\n".utf8)
            }
        }
        return isUp ? nil : "\(first), of the default route, is down"
    }

    /// The links of default routes that are up: flag RTF_UP, and not RTF_REJECT (`linux/route.h`).
    private static func defaultLinks(_ proc: String) -> [String] {
        func rows(_ file: String) -> [[Substring]] {
            let text = (try? Linux.readFile("\(proc)/net/\(file)", limit: 1 << 20)) ?? []
            return String(decoding: text, as: UTF8.self).split(separator: "\n").map {
                $0.split(whereSeparator: { $0 == " " || $0 == "\t" })
            }
        }
        func isUp(_ flags: Substring) -> Bool {
            UInt32(flags, radix: 16).map { $0 & 0x1 != 0 && $0 & 0x200 == 0 } ?? false
        }
        let four = rows("route").filter {
            $0.count >= 8 && $0[1] == "00000000" && $0[7] == "00000000" && isUp($0[3])
        }.map { String($0[0]) }
        let six = rows("ipv6_route").filter {
            $0.count >= 10 && $0[0].allSatisfy { $0 == "0" } && $0[1] == "00" && isUp($0[8])
        }.map { String($0[9]) }
        // A route that drops everything (`blackhole`) has no link.
        return (four + six).filter { $0 != "lo" && $0 != "*" }
    }
}
