/// The machine's idleness as logind tells it (`org.freedesktop.login1(5)`), over the bus of the system. Confined to the
/// context of the bus.
package final class LoginClient {
    private static let service = "org.freedesktop.login1"
    private static let path = "/org/freedesktop/login1"
    private static let manager = "org.freedesktop.login1.Manager"
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let driver = "org.freedesktop.DBus"

    private let bus: Bus

    /// - Parameter changed: something may be different; whoever can reach the bus may cause that.
    package init(_ bus: Bus, changed: @escaping () -> Void) {
        self.bus = bus
        bus.signalled = { message in
            if Self.signals.contains(message.member) { changed() }
        }
    }

    private static let signals: Set = ["PropertiesChanged", "SessionNew", "SessionRemoved", "NameOwnerChanged"]

    /// Asks to be told what happens. The first failure is given, once.
    package func subscribe(_ done: @escaping (_ failure: String?) -> Void) {
        let own = "type='signal',sender='\(Self.service)',path='\(Self.path)'"
        let rules = [
            "\(own),interface='\(Self.properties)',member='PropertiesChanged'",
            "\(own),interface='\(Self.manager)',member='SessionNew'",
            "\(own),interface='\(Self.manager)',member='SessionRemoved'",
            "type='signal',sender='\(Self.driver)',interface='\(Self.driver)',member='NameOwnerChanged',arg0='\(Self.service)'",
        ]
        var (failure, left): (String?, Int) = (nil, rules.count)
        for rule in rules {
            bus.call(Self.driver, "/org/freedesktop/DBus", Self.driver, "AddMatch", [.string(rule)]) { reply in
                failure = failure ?? reply.objection
                left -= 1
                if left == 0 { done(failure) }
            }
        }
    }

    /// Asks how idle the machine is, which starts logind where it can be started; `nil`: it is not known, and why.
    package func idleness(_ done: @escaping (_ idleness: Idleness?, _ failure: String) -> Void) {
        bus.call(Self.service, Self.path, Self.properties, "GetAll", [.string(Self.manager)]) { reply in
            switch reply {
            case .failure(let reason), .silence(let reason): done(nil, reason)
            case .message(let message): done(try? Self.idleness(message), "its answer cannot be decoded")
            }
        }
    }

    private static func idleness(_ message: BusMessage) throws(BusMessage.Unexpected) -> Idleness {
        var isIdle: Bool?
        var (since, delay): (UInt64, UInt64) = (0, 0)
        try message.forEach(BusType.entry, "sv") { () throws(BusMessage.Unexpected) in
            switch try message.string() {
            case "IdleHint":
                isIdle = try message.inside(BusType.variant, "b") { () throws(BusMessage.Unexpected) in
                    try message.boolean()
                }
            case "IdleSinceHintMonotonic": since = try number(message)
            case "IdleActionUSec": delay = try number(message)
            default: try message.skip("v")
            }
        }
        guard let isIdle else { throw BusMessage.Unexpected() }
        return Idleness(isIdle: isIdle, since: since, delay: delay)
    }

    private static func number(_ message: BusMessage) throws(BusMessage.Unexpected) -> UInt64 {
        try message.inside(BusType.variant, "t") { () throws(BusMessage.Unexpected) in try message.unsigned() }
    }
}
