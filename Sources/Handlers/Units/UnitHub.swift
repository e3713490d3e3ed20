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
/// needs it.
///
/// The bus's descriptor is somebody else's to hang up, so it is in the epoll set. Confined to the core.
package final class UnitHub {
    /// Microseconds until somebody must have answered on a new connection.
    private static let patience = 10_000_000
    /// Microseconds: nobody tells when there is a bus again, and to look costs one system call.
    private static let longestPause = 5_000_000
    /// Messages that are taken in one turn, so that others of the core get theirs.
    private static let messagesPerTurn = 64

    private let core: Context
    private let epoll: EpollSet
    let scope: Bus.Scope
    private var listeners: [any UnitListener] = []
    private var bus: Bus?
    private var client: UnitClient?
    private var isSubscribed = false
    /// Connections so far.
    private var connections = 0
    private var token: UInt64?
    private var waitsFor: EpollEvents = []
    /// Monotonic microsecond at which the bus is looked at anyway.
    private var wakeUp: Int64?
    /// Why it is of no use any more; seen when no message is being read.
    private var failure: String?
    /// Why there is no connection, for sources that come while one is waited for.
    private var condition: SourceCondition?
    private var isPumping = false
    private var retry = Retry(longest: longestPause)
    private var bound: QueueBound<UnitHub> { QueueBound(self, to: core) }

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

    // MARK: Listeners

    func add(_ listener: any UnitListener) {
        listeners.append(listener)
        if let client, isSubscribed {
            listener.connected(client)
            // Its question has to be sent, and to be answered in time.
            return pumpLater()
        }
        if let condition { return listener.failed(condition) }
        if bus == nil { connect() }
    }

    func remove(_ listener: any UnitListener) {
        listeners.removeAll { $0 === listener }
        guard listeners.isEmpty else { return }
        retry.cancel()
        retry.reset()
        condition = nil
        disconnect()
    }

    /// The manager has answered.
    func answered() { retry.reset() }

    /// Questions have to be sent.
    func flush() { pumpLater() }

    /// After what is being read now.
    func later(_ work: @escaping () -> Void) {
        let bound = QueueBound(work, to: core)
        core.async { bound.value() }
        // Its question has to be sent.
        pumpLater()
    }

    // MARK: The connection

    private func connect() {
        condition = nil
        failure = nil
        do throws(SystemError) {
            let bus = try Bus(scope)
            let client = UnitClient(bus) { [weak self] in self?.take($0) }
            self.bus = bus
            self.client = client
            waitsFor = [.readable]
            token = try epoll.add(bus.descriptor, waitsFor) { [weak self] _ in self?.pump() }
            client.subscribe { [weak self] failure in self?.subscribed(failure) }
        } catch {
            return lost(Self.explain(error, scope))
        }
        expectAnswer()
        pump()
    }

    private func expectAnswer() {
        connections += 1
        core.after(Self.patience) { [bound, connections] in
            let hub = bound.value
            guard hub.connections == connections, hub.bus != nil, !hub.isSubscribed else { return }
            hub.fail("the \(hub.scope) bus does not answer")
        }
    }

    private static func explain(_ error: SystemError, _ scope: Bus.Scope) -> String {
        switch error.errno {
        case .noSuchFile, .connectionRefused:
            "there is no \(scope) bus (is dbus running?): \(error.errno)"
        case .noMedium: "there is no \(scope) bus: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set"
        case .connectionReset, .notConnected: "the \(scope) bus has closed the connection"
        default: "the \(scope) bus cannot be used: \(error)"
        }
    }

    private func subscribed(_ reason: String?) {
        if let reason { return fail("systemd does not answer on the \(scope) bus: \(reason)") }
        guard let client else { return }
        isSubscribed = true
        for listener in listeners { listener.connected(client) }
    }

    /// The connection is of no use any more.
    func fail(_ reason: String) {
        failure = failure ?? reason
        pumpLater()
    }

    private func take(_ news: UnitClient.News) {
        if case .gone = news { return fail("systemd has left the \(scope) bus") }
        guard let client else { return }
        for listener in listeners { listener.take(news, client) }
    }

    private func lost(_ reason: String) {
        disconnect()
        guard !listeners.isEmpty else { return }
        retry.schedule(on: core) { [weak self] in self?.connect() }
        let condition = retry.condition(reason)
        self.condition = condition
        for listener in listeners { listener.failed(condition) }
    }

    private func disconnect() {
        if let token { epoll.remove(token) }
        token = nil
        client = nil
        bus = nil
        isSubscribed = false
        wakeUp = nil
    }

    // MARK: Messages

    private func pumpLater() { core.async { [bound] in bound.value.pump() } }

    private func pump() {
        guard !isPumping, let bus else { return }
        isPumping = true
        defer { isPumping = false }
        var left = Self.messagesPerTurn
        do throws(SystemError) {
            while failure == nil, left > 0, try bus.process() { left -= 1 }
            if failure == nil { try wait(for: bus) }
        } catch {
            failure = failure ?? Self.explain(error, scope)
        }
        if let failure { return lost(failure) }
        if left == 0 { pumpLater() }
    }

    private func wait(for bus: Bus) throws(SystemError) {
        let (readable, writable) = bus.events
        var events: EpollEvents = []
        if readable { events.insert(.readable) }
        if writable { events.insert(.writable) }
        if events != waitsFor, let token {
            try epoll.modify(token, events)
            waitsFor = events
        }
        guard let deadline = bus.deadline, wakeUp.map({ deadline < $0 }) ?? true else { return }
        wakeUp = deadline
        core.after(max(0, Int(deadline - Linux.now(.monotonic)))) { [bound] in
            let hub = bound.value
            guard hub.wakeUp == deadline else { return }
            hub.wakeUp = nil
            hub.pump()
        }
    }
}
