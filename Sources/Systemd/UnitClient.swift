import CSystemd
import Glibc

/// The service manager's news of its units (`org.freedesktop.systemd1(5)`), over a bus. Confined to the context of the
/// bus.
///
/// It speaks to the manager over the message bus, never over `/run/systemd/private`, which `systemd(1)` keeps for
/// `systemctl`: it would need root, and tell of every unit and job. Everybody on a bus may send a signal to anybody, so
/// only those of the manager's own connection count.
package final class UnitClient {
    package enum News {
        /// `state` is `ActiveState`; `result`: `Result` of the kind of unit, where it was told with it.
        case changed(unit: String, state: String, result: String?)
        /// The manager knows a unit that it did not know; nothing is said of its state.
        case loaded(unit: String)
        case unloaded(unit: String)
        /// A job is over; `result`: `done`, `failed`, `canceled`, …
        case jobEnded(job: String, result: String)
        /// The manager has read its files anew: all may be different.
        case reloaded
        /// The manager that agreed to tell has left the bus, as it does for `systemctl daemon-reexec` too.
        case gone
    }

    private static let manager = "org.freedesktop.systemd1"
    private static let managerPath = "/org/freedesktop/systemd1"
    private static let managerInterface = "org.freedesktop.systemd1.Manager"
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let driver = "org.freedesktop.DBus"

    private let bus: Bus
    private let news: (News) -> Void
    let line = CallLine()
    /// The manager's connection, by its unique name.
    private var owner: String?
    /// The manager forgets its units and reads them again: until it is done nothing that it says of them counts.
    private var isReloading = false
    /// The result that the kind of unit has told of this object, just before the unit itself speaks.
    private var lastResult: (path: String, result: String)?

    package init(_ bus: Bus, news: @escaping (News) -> Void) {
        self.bus = bus
        self.news = news
        bus.signalled = { [weak self] in self?.take($0) }
    }

    // MARK: Questions

    /// Asks to be told what happens. The first failure is given, once; nothing, when the manager has agreed.
    package func subscribe(_ done: @escaping (_ failure: String?) -> Void) {
        let signals = "type='signal',sender='\(Self.manager)'"
        var rules = ["UnitNew", "UnitRemoved", "JobRemoved", "Reloading"].map {
            "\(signals),interface='\(Self.managerInterface)',member='\($0)'"
        }
        rules.append(
            "\(signals),interface='\(Self.properties)',member='PropertiesChanged',path_namespace='\(Self.managerPath)/unit'"
        )
        rules.append(
            "type='signal',sender='\(Self.driver)',interface='\(Self.driver)',member='NameOwnerChanged',arg0='\(Self.manager)'"
        )
        var failure: String?
        for rule in rules {
            bus.call(Self.driver, "/org/freedesktop/DBus", Self.driver, "AddMatch", [.string(rule)]) { reply in
                failure = failure ?? reply.objection
            }
        }
        call("Subscribe") { [weak self] reply in
            switch reply {
            case .message(let message): self?.owner = message.sender
            case .failure(let reason), .silence(let reason): failure = failure ?? reason
            }
            done(failure)
        }
    }

    /// Units that are loaded and whose names match one of the patterns, with their states; `nil`: the list cannot be
    /// had, and why.
    package func list(
        _ patterns: [String], _ done: @escaping (_ units: [(name: String, state: String)]?, _ failure: String) -> Void
    ) {
        call("ListUnitsByPatterns", [.strings([]), .strings(patterns)]) { reply in
            switch reply {
            case .failure(let reason), .silence(let reason): done(nil, reason)
            case .message(let message):
                guard let units = try? Self.units(message) else {
                    return done(nil, "its list of units cannot be decoded")
                }
                done(units, "")
            }
        }
    }

    private static func units(_ message: BusMessage) throws(BusMessage.Unexpected) -> [(name: String, state: String)] {
        var units: [(name: String, state: String)] = []
        try message.forEach(BusType.structure, "ssssssouso") { () throws(BusMessage.Unexpected) in
            let name = try message.string()
            try message.skip("ss")
            units.append((name, try message.string()))
            try message.skip("ssouso")
        }
        return units
    }

    /// The name that the unit has itself, where the given one is an alias; the manager reads its file if need be.
    package func resolve(_ name: String, _ done: @escaping (String) -> Void) {
        call("LoadUnit", [.string(name)]) { reply in
            guard case .message(let message) = reply, let path = try? message.objectPath() else { return done(name) }
            done(Self.unit(path: path) ?? name)
        }
    }

    /// `Result` of a unit, for the kinds that have one.
    package func result(of unit: String, _ done: @escaping (String?) -> Void) {
        guard let kind = unit.split(separator: ".").last, let path = Self.path(unit: unit) else { return done(nil) }
        let interface = "\(Self.manager).\(kind.prefix(1).uppercased() + kind.dropFirst())"
        bus.call(Self.manager, path, Self.properties, "Get", [.string(interface), .string("Result")]) { reply in
            guard case .message(let message) = reply else { return done(nil) }
            done(try? message.inside(BusType.variant, "s") { () throws(BusMessage.Unexpected) in try message.string() })
        }
    }

    /// `ActiveState` of a unit; `nil`: it cannot be had, and why.
    package func state(of unit: String, _ done: @escaping (_ state: String?, _ failure: String) -> Void) {
        property("ActiveState", of: unit) { reply in
            switch reply {
            case .failure(let reason), .silence(let reason): done(nil, reason)
            case .message(let message):
                let state = try? message.inside(BusType.variant, "s") { () throws(BusMessage.Unexpected) in
                    try message.string()
                }
                done(state, "its state cannot be decoded")
            }
        }
    }

    /// The id of the run of a unit, its last one where it does not run, as 32 hexadecimal digits; `nil`: it has none.
    package func invocation(of unit: String, _ done: @escaping (String?) -> Void) {
        property("InvocationID", of: unit) { reply in
            guard case .message(let message) = reply else { return done(nil) }
            done(Self.identifier(message))
        }
    }

    /// A variant of 16 bytes.
    static func identifier(_ message: BusMessage) -> String? {
        let read = { () throws(BusMessage.Unexpected) in try message.bytes() }
        guard let bytes = try? message.inside(BusType.variant, "ay", read), bytes.count == 16 else { return nil }
        return bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// When the state of a unit has changed last, on the monotonic clock, in microseconds.
    package func changeTime(of unit: String, _ done: @escaping (UInt64?) -> Void) {
        property("StateChangeTimestampMonotonic", of: unit) { reply in
            guard case .message(let message) = reply else { return done(nil) }
            done(
                try? message.inside(BusType.variant, "t") { () throws(BusMessage.Unexpected) in try message.unsigned() }
            )
        }
    }

    /// The object of the job that a unit has; `/`: it has none; `nil`: nobody says.
    package func job(of unit: String, _ done: @escaping (String?) -> Void) {
        line.enter { [weak self] finished in
            self?.property("Job", of: unit) { reply in
                done(Self.job(reply))
                finished()
            }
        }
    }

    static func job(_ reply: Bus.Reply) -> String? {
        guard case .message(let message) = reply else { return nil }
        let read = { () throws(BusMessage.Unexpected) in
            try message.inside(BusType.structure, "uo") { () throws(BusMessage.Unexpected) in
                try message.skip("u")
                return try message.objectPath()
            }
        }
        return try? message.inside(BusType.variant, "(uo)", read)
    }

    /// Whether the main process of a service has ended with 0, since a moment of the monotonic clock (µs); false too
    /// where nobody says so.
    package func hasEndedWell(_ unit: String, since: Int64, _ done: @escaping (Bool) -> Void) {
        var isExit = false
        property("ExecMainCode", of: unit, "Service") { isExit = Self.signed($0) == Int32(CLD_EXITED) }
        var isSuccess = false
        property("ExecMainStatus", of: unit, "Service") { isSuccess = Self.signed($0) == 0 }
        property("ExecMainExitTimestampMonotonic", of: unit, "Service") { reply in
            guard case .message(let message) = reply else { return done(false) }
            let time = try? message.inside(BusType.variant, "t") { () throws(BusMessage.Unexpected) in
                try message.unsigned()
            }
            done(isExit && isSuccess && UInt64(max(0, since)) <= time ?? 0)
        }
    }

    private static func signed(_ reply: Bus.Reply) -> Int32? {
        guard case .message(let message) = reply else { return nil }
        let read = { () throws(BusMessage.Unexpected) in try message.number(Int32(0), "i") }
        return try? message.inside(BusType.variant, "i", read)
    }

    /// Whether a service has the cgroup below its own (`Delegate=yes`); false too where nobody says so.
    func isDelegated(to unit: String, _ done: @escaping (Bool) -> Void) {
        property("Delegate", of: unit, "Service") { reply in
            guard case .message(let message) = reply else { return done(false) }
            let read = { () throws(BusMessage.Unexpected) in try message.boolean() }
            done((try? message.inside(BusType.variant, "b", read)) ?? false)
        }
    }

    func property(
        _ name: String, of unit: String, _ interface: String = "Unit", _ reply: @escaping (Bus.Reply) -> Void
    ) {
        guard let path = Self.path(unit: unit) else { return reply(.failure("it has no place on the bus")) }
        property(name, interface, path, reply)
    }

    /// - Parameter path: of a unit or a job.
    func property(_ name: String, _ interface: String, _ path: String, _ reply: @escaping (Bus.Reply) -> Void) {
        bus.call(
            Self.manager, path, Self.properties, "Get", [.string("\(Self.manager).\(interface)"), .string(name)],
            reply: reply)
    }

    // MARK: Jobs

    /// The outcome of the question for a job.
    package enum Start {
        /// Its object.
        case job(String)
        case refused(String)
        /// Nobody knows whether there is one. A sentence.
        case unanswered(String)

        init(_ reply: Bus.Reply) {
            switch reply {
            case .failure(let reason): self = .refused(reason)
            case .silence(let reason): self = .unanswered(reason)
            case .message(let message):
                self = (try? message.objectPath()).map { .job($0) } ?? .refused("its answer cannot be decoded")
            }
        }
    }

    /// Asks for a job, in place of those that contradict it (`replace`).
    ///
    /// - Parameter method: `StartUnit` and its like.
    package func queue(_ method: String, _ unit: String, _ done: @escaping (Start) -> Void) {
        callInLine(method, [.string(unit), .string("replace")]) { done(Start($0)) }
    }

    /// Asks for the end of a job, which is told as that of any.
    package func cancel(job: String) {
        bus.call(Self.manager, job, "\(Self.manager).Job", "Cancel") { _ in }
    }

    func call(_ member: String, _ arguments: [BusValue] = [], _ reply: @escaping (Bus.Reply) -> Void) {
        bus.call(Self.manager, Self.managerPath, Self.managerInterface, member, arguments, reply: reply)
    }

    /// When the bus has room for one more question.
    func callInLine(_ member: String, _ arguments: [BusValue], _ reply: @escaping (Bus.Reply) -> Void) {
        line.enter { [weak self] finished in
            self?.call(member, arguments) {
                reply($0)
                finished()
            }
        }
    }

    // MARK: Signals

    private func take(_ message: BusMessage) {
        if message.sender == Self.driver { return ownerChanged(message) }
        guard let owner, message.sender == owner else { return }
        switch message.member {
        case "Reloading": if let begins = try? message.boolean() { reloading(begins) }
        case "JobRemoved": try? jobRemoved(message)
        case _ where isReloading: break
        case "PropertiesChanged": try? propertiesChanged(message)
        case "UnitNew": if let unit = try? message.string() { news(.loaded(unit: unit)) }
        case "UnitRemoved": if let unit = try? message.string() { news(.unloaded(unit: unit)) }
        default: break
        }
    }

    private func jobRemoved(_ message: BusMessage) throws(BusMessage.Unexpected) {
        try message.skip("u")
        let job = try message.objectPath()
        try message.skip("s")
        news(.jobEnded(job: job, result: try message.string()))
    }

    private func reloading(_ begins: Bool) {
        isReloading = begins
        if !begins { news(.reloaded) }
    }

    private func propertiesChanged(_ message: BusMessage) throws(BusMessage.Unexpected) {
        let (path, interface) = (message.path, try message.string())
        let isUnit = interface == "\(Self.manager).Unit"
        let wanted = isUnit ? "ActiveState" : "Result"
        var value: String?
        try message.forEach(BusType.entry, "sv") { () throws(BusMessage.Unexpected) in
            guard try message.string() == wanted else { return try message.skip("v") }
            value = try message.inside(BusType.variant, "s") { () throws(BusMessage.Unexpected) in
                try message.string()
            }
        }
        guard isUnit else {
            lastResult = value.map { (path, $0) }
            return
        }
        let result = lastResult.flatMap { $0.path == path ? $0.result : nil }
        lastResult = nil
        guard let value, let unit = Self.unit(path: path) else { return }
        news(.changed(unit: unit, state: value, result: result))
    }

    private func ownerChanged(_ message: BusMessage) {
        guard owner != nil, message.member == "NameOwnerChanged", (try? message.string()) == Self.manager,
            (try? message.string()) == owner
        else { return }
        owner = nil
        news(.gone)
    }

    // MARK: Names

    private static let unitPath = "/org/freedesktop/systemd1/unit"

    /// `a-b.service` of `/org/freedesktop/systemd1/unit/a_2db_2eservice`; `nil` for any other path.
    package static func unit(path: String) -> String? {
        var name: UnsafeMutablePointer<CChar>?
        guard sd_bus_path_decode(path, unitPath, &name) > 0, let name else { return nil }
        defer { free(name) }
        let unit = String(cString: name)
        return unit.isEmpty ? nil : unit
    }

    package static func path(unit: String) -> String? {
        var path: UnsafeMutablePointer<CChar>?
        guard sd_bus_path_encode(unitPath, unit, &path) >= 0, let path else { return nil }
        defer { free(path) }
        return String(cString: path)
    }
}
