import LinuxSystem
import WatchFile

/// `ac-power`: an adapter is plugged in, or nothing is known of batteries and adapters. Woken by the uevents of the
/// class `power_supply`. Confined to its context.
final class PowerProbe: HoldProbe {
    /// NETLINK_KOBJECT_UEVENT, and its group of the kernel (`linux/netlink.h`).
    private static let family: Int32 = 15
    private static let groups: UInt32 = 1

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

    private func look() { tell(Self.obstacle(in: "\(environment.sys)/class/power_supply")) }

    /// As systemd's `ConditionACPower=` has it: an adapter that supplies power is enough; without one, an adapter that
    /// does not, or a battery that is being discharged, says no.
    static func obstacle(in folder: String) -> String? {
        var (unplugged, discharged): (String?, String?) = (nil, nil)
        for entry in (try? Linux.readFolder(folder)) ?? [] {
            let name = String(decoding: entry.name, as: UTF8.self)
            func text(_ file: String) -> String {
                let bytes = (try? Linux.readFile("\(folder)/\(name)/\(file)", limit: 4096)) ?? []
                return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            }
            // Of a mouse or a headset, which have batteries too.
            if text("scope") == "Device" { continue }
            switch text("type") {
            case "Mains", "USB", "Wireless":
                if text("online") == "1" || text("online") == "2" { return nil }
                if text("online") == "0" { unplugged = unplugged ?? name }
            case "Battery": if text("status") == "Discharging" { discharged = discharged ?? name }
            default: break
            }
        }
        if let discharged { return "battery \(discharged) is being discharged" }
        return unplugged.map { "adapter \($0) is not plugged in" }
    }
}
