import LinuxSystem

/// The service manager of the user.
package enum UserManager {
    /// Microseconds that its answer may take.
    private static let patience: Int64 = 1_000_000

    /// Whether it has given the cgroup of a service to that (`Delegate=yes`), which no attribute of the cgroup says
    /// (Systemd.md, fact 46). Waits for the answer, at most a second; false: there is none.
    package static func delegates(to service: String) -> Bool {
        guard let bus = try? Bus(.user) else { return false }
        let client = UnitClient(bus) { _ in }
        var answer: Bool?
        client.isDelegated(to: service) { answer = $0 }
        bus.process(atMost: patience) { answer == nil }
        return answer ?? false
    }
}
