import Engine
import EventSources
import LinuxSystem
import Systemd

/// A connection to a bus that is made again, later and later, as long as somebody needs it.
///
/// The bus's descriptor is somebody else's to hang up, so it is in the epoll set. Confined to the core.
final class BusLink {
    /// Microseconds until somebody must have answered on a new connection.
    private static let patience = 10_000_000
    /// Microseconds: nobody tells when there is a bus again, and to look costs one system call.
    private static let longestPause = 5_000_000
    /// Messages that are taken in one turn, so that others of the core get theirs.
    private static let messagesPerTurn = 64

    let scope: Bus.Scope
    private let core: Context
    private let epoll: EpollSet
    private let opened: (Bus) -> Void
    private let lost: (SourceCondition) -> Void
    private var bus: Bus?
    /// The service at the other end has answered on this connection.
    private var isAnswered = false
    /// Connections so far.
    private var connections = 0
    private var token: UInt64?
    private var waitsFor: EpollEvents = []
    /// Monotonic microsecond at which the bus is looked at anyway.
    private var wakeUp: Int64?
    /// Why it is of no use any more; seen when no message is being read.
    private var failure: String?
    /// Why there is no connection, while one is waited for.
    private(set) var condition: SourceCondition?
    private var isWanted = false
    private var isPumping = false
    private var retry = Retry(longest: longestPause)
    private var bound: QueueBound<BusLink> { QueueBound(self, to: core) }

    /// - Parameters:
    ///   - opened: there is a connection; who is spoken to has not answered yet.
    ///   - lost: there is none any more, or none yet.
    init(
        core: Context, epoll: EpollSet, scope: Bus.Scope, opened: @escaping (Bus) -> Void,
        lost: @escaping (SourceCondition) -> Void
    ) {
        (self.core, self.epoll, self.scope) = (core, epoll, scope)
        (self.opened, self.lost) = (opened, lost)
    }

    var isOpen: Bool { bus != nil }

    func open() {
        isWanted = true
        connect()
    }

    /// Does not wait for the next look.
    func tryNow() {
        guard isWanted, bus == nil else { return }
        retry.cancel()
        connect()
    }

    /// Not while a message is read.
    func close() {
        isWanted = false
        retry.cancel()
        retry.reset()
        condition = nil
        disconnect()
    }

    /// The service at the other end is there.
    func isAgreed() { isAnswered = true }

    /// It has answered: the next pause begins short.
    func answered() { retry.reset() }

    /// The connection is of no use any more.
    func fail(_ reason: String) {
        failure = failure ?? reason
        pumpLater()
    }

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
            self.bus = bus
            waitsFor = [.readable]
            token = try epoll.add(bus.descriptor, waitsFor) { [weak self] _ in self?.pump() }
            opened(bus)
        } catch {
            return end(Self.explain(error, scope))
        }
        expectAnswer()
        pump()
    }

    private func expectAnswer() {
        connections += 1
        core.after(Self.patience) { [bound, connections] in
            let link = bound.value
            guard link.connections == connections, link.isOpen, !link.isAnswered else { return }
            link.fail("the \(link.scope) bus does not answer")
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

    private func end(_ reason: String) {
        disconnect()
        guard isWanted else { return }
        retry.schedule(on: core) { [weak self] in self?.connect() }
        let condition = retry.condition(reason)
        self.condition = condition
        lost(condition)
    }

    private func disconnect() {
        if let token { epoll.remove(token) }
        token = nil
        bus = nil
        isAnswered = false
        wakeUp = nil
    }

    // MARK: Messages

    /// Questions have to be sent.
    func pumpLater() { core.async { [bound] in bound.value.pump() } }

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
        if let failure { return end(failure) }
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
            let link = bound.value
            guard link.wakeUp == deadline else { return }
            link.wakeUp = nil
            link.pump()
        }
    }
}
