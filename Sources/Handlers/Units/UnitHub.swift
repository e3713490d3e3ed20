import Engine
package import EventSources
import LinuxSystem
package import Systemd
import WatchFile

/// A user of the service manager. Confined to the core.
protocol UnitListener: AnyObject {
    /// The manager tells from now on what happens.
    func connected(_ client: UnitClient)
    func take(_ news: UnitClient.News, _ client: UnitClient)
    /// There is no connection, or none any more; who stays in the hub is told when there is one again.
    func failed(_ condition: SourceCondition)
}

/// The one connection to the service manager that `[Unit]` sources and runs of `Unit=` share; there is none while nobody
/// needs it. Confined to the core.
package final class UnitHub {
    let scope: Bus.Scope
    private let core: Context
    private let epoll: EpollSet
    private var listeners: [any UnitListener] = []
    private var client: UnitClient?
    private var isSubscribed = false
    private lazy var link = BusLink(
        core: core, epoll: epoll, scope: scope, opened: { [weak self] in self?.opened($0) },
        lost: { [weak self] in self?.lost($0) })

    package init(core: Context, epoll: EpollSet, scope: Bus.Scope) {
        self.core = core
        self.epoll = epoll
        self.scope = scope
    }

    /// The manager of root's units is the system's. Anybody else means his own, where he has a place for its bus; a
    /// service that runs as a user of its own has none, and may look at the system's too.
    package static var ownScope: Bus.Scope {
        guard Linux.effectiveUserID != 0 else { return .system }
        let places = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"]
        return places.contains { Linux.environment($0) != nil } ? .user : .system
    }

    /// The service that watchd itself runs in, by its cgroup; `nil`: none, or another process of a session.
    package static let ownUnit = unit((try? Linux.readFile("/proc/self/cgroup", limit: 1 << 16)) ?? [])

    /// - Parameter text: `/proc/PID/cgroup` (`cgroups(7)`).
    static func unit(_ text: [UInt8]) -> String? {
        // The manager's is the unified hierarchy, or that of its name where there is none.
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        let line =
            lines.first { $0.hasPrefix("0::/") && $0 != "0::/" }
            ?? lines.first { $0.split(separator: ":").dropFirst().first == "name=systemd" }
        let unit = line?.split(separator: "/").dropFirst().last { name in
            [".service", ".scope", ".slice"].contains { name.hasSuffix($0) }
        }
        return unit?.hasSuffix(".service") == true ? unit.map(String.init) : nil
    }

    // MARK: Listeners

    func add(_ listener: any UnitListener) {
        listeners.append(listener)
        if let client, isSubscribed {
            listener.connected(client)
            // Its question has to be sent, and to be answered in time.
            return link.pumpLater()
        }
        if let condition = link.condition { return listener.failed(condition) }
        if !link.isOpen { link.open() }
    }

    func remove(_ listener: any UnitListener) {
        listeners.removeAll { $0 === listener }
        guard listeners.isEmpty else { return }
        forget()
        link.close()
    }

    /// The manager has answered.
    func answered() { link.answered() }

    /// Questions have to be sent.
    func flush() { link.pumpLater() }

    /// Looks for the manager at once, where there is no connection to it.
    func tryNow() { link.tryNow() }

    /// After what is being read now.
    func later(_ work: @escaping () -> Void) { link.later(work) }

    /// The connection is of no use any more.
    func fail(_ reason: String) { link.fail(reason) }

    // MARK: The connection

    private func opened(_ bus: Bus) {
        let client = UnitClient(bus) { [weak self] in self?.take($0) }
        self.client = client
        client.subscribe { [weak self] failure in self?.subscribed(failure) }
    }

    private func subscribed(_ reason: String?) {
        if let reason { return fail("systemd does not answer on the \(scope) bus: \(reason)") }
        guard let client else { return }
        isSubscribed = true
        link.isAgreed()
        for listener in listeners { listener.connected(client) }
    }

    private func take(_ news: UnitClient.News) {
        if case .gone = news { return fail("systemd has left the \(scope) bus") }
        guard let client else { return }
        for listener in listeners { listener.take(news, client) }
    }

    private func lost(_ condition: SourceCondition) {
        forget()
        for listener in listeners { listener.failed(condition) }
    }

    private func forget() {
        client = nil
        isSubscribed = false
    }
}
