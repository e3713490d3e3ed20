import CSystemd
package import LinuxSystem

/// A connection to a message bus (`sd-bus(3)`). Nothing here blocks: connecting, authentication and calls go on in
/// `process`. Confined to the context of who has it.
package final class Bus {
    package enum Scope: String, Sendable {
        /// That of the machine, where the system's service manager answers.
        case system
        /// That of a user, where his own service manager answers.
        case user
    }

    /// The outcome of a method call.
    package enum Reply {
        /// To be read before the closure that gets it returns.
        case message(BusMessage)
        /// The objection of the other side, or of the bus. A sentence.
        case failure(String)
        /// There is no answer in time, or the other side has left the bus: what it was asked for may be done, or be
        /// done later. A sentence.
        case silence(String)

        /// Why there is no message.
        var objection: String? {
            switch self {
            case .message: nil
            case .failure(let reason), .silence(let reason): reason
            }
        }
    }

    /// Errors of the bus, and of libsystemd, in place of an answer.
    private static let silences: Set = ["org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout"]
    /// Microseconds that an answer may take.
    private static let patience: UInt64 = 10_000_000

    private let bus: OpaquePointer
    private var replies: [UInt64: (Reply) -> Void] = [:]
    /// Gets every signal, to be read before it returns; and whoever can reach the bus may send one.
    package var signalled: (BusMessage) -> Void = { _ in }

    /// - Throws: ENOENT: there is no bus; ENOMEDIUM: nobody has said where it is.
    package init(_ scope: Scope) throws(SystemError) {
        var opened: OpaquePointer?
        let result = scope == .system ? sd_bus_open_system(&opened) : sd_bus_open_user(&opened)
        guard result >= 0, let opened else { throw SystemError(call: "sd_bus_open_\(scope)", errno: Errno(-result)) }
        bus = opened
        let added = sd_bus_add_filter(
            bus, nil, { message, context, _ in Bus.take(message, context) }, Unmanaged.passUnretained(self).toOpaque())
        guard added >= 0 else { throw SystemError(call: "sd_bus_add_filter", errno: Errno(-added)) }
    }

    deinit { sd_bus_close_unref(bus) }

    // MARK: Waiting for it

    /// Stays the bus's, and the same as long as `process` does not throw.
    package var descriptor: Int32 { sd_bus_get_fd(bus) }

    /// The events to wait for at the descriptor now.
    package var events: (readable: Bool, writable: Bool) {
        let events = sd_bus_get_events(bus)
        // POLLIN and POLLOUT (`poll(2)`).
        return events < 0 ? (true, false) : (events & 0x1 != 0, events & 0x4 != 0)
    }

    /// Microsecond of the monotonic clock at which `process` is to be called anyway; `nil`: there is none.
    package var deadline: Int64? {
        var time = UInt64.max
        guard sd_bus_get_timeout(bus, &time) >= 0, time < UInt64(Int64.max) else { return nil }
        return Int64(time)
    }

    /// Does one step; false: there is nothing to do for now.
    ///
    /// - Throws: the connection is over.
    package func process() throws(SystemError) -> Bool {
        let result = sd_bus_process(bus, nil)
        guard result >= 0 else { throw SystemError(call: "sd_bus_process", errno: Errno(-result)) }
        guard sd_bus_is_open(bus) > 0 else { throw SystemError(call: "sd_bus_process", errno: .connectionReset) }
        return result > 0
    }

    /// Processes what comes, and blocks, as long as `isWaiting`; at most these microseconds.
    func process(atMost span: Int64, while isWaiting: () -> Bool) {
        let deadline = Linux.now(.monotonic) + span
        while isWaiting(), let left = Optional(deadline - Linux.now(.monotonic)), left > 0 {
            guard let isBusy = try? process() else { return }
            if !isBusy, sd_bus_wait(bus, UInt64(left)) < 0 { return }
        }
    }

    // MARK: Calls

    /// Calls a method. The answer comes from `process`, in the order of what the other side has sent; none comes when
    /// the connection ends before.
    package func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = [],
        reply: @escaping (Reply) -> Void
    ) {
        var made: OpaquePointer?
        let result = sd_bus_message_new_method_call(bus, &made, destination, path, interface, member)
        guard result >= 0, let made else { return reply(.failure(Errno(-result).text)) }
        defer { sd_bus_message_unref(made) }
        for argument in arguments {
            let result = argument.append(to: made)
            guard result >= 0 else { return reply(.failure("\(member): \(Errno(-result).text)")) }
        }
        let context = Unmanaged.passUnretained(self).toOpaque()
        let sent = sd_bus_call_async(
            bus, nil, made, { message, context, _ in Bus.answer(message, context) }, context, Self.patience)
        var cookie: UInt64 = 0
        guard sent >= 0, sd_bus_message_get_cookie(made, &cookie) >= 0 else {
            return reply(.failure("\(member): \(Errno(-sent).text)"))
        }
        replies[cookie] = reply
    }

    // MARK: Callbacks of libsystemd

    private static func take(_ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?) -> Int32 {
        guard let message, let context, sd_bus_message_is_signal(message, nil, nil) > 0 else { return 0 }
        Unmanaged<Bus>.fromOpaque(context).takeUnretainedValue().signalled(BusMessage(message))
        return 0
    }

    private static func answer(_ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?) -> Int32 {
        guard let message, let context else { return 0 }
        let bus = Unmanaged<Bus>.fromOpaque(context).takeUnretainedValue()
        var cookie: UInt64 = 0
        guard sd_bus_message_get_reply_cookie(message, &cookie) >= 0,
            let reply = bus.replies.removeValue(forKey: cookie)
        else { return 0 }
        if let error = sd_bus_message_get_error(message) {
            let name = error.pointee.name.map { String(cString: $0) } ?? "an error"
            let reason = error.pointee.message.map { String(cString: $0) } ?? name
            reply(silences.contains(name) ? .silence(reason) : .failure(reason))
        } else {
            reply(.message(BusMessage(message)))
        }
        return 0
    }
}
