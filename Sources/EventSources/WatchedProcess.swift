package import Engine
package import LinuxSystem

/// A process that is not our child. Its pidfd is readable when it has ended, but how it ended is known only when its
/// parent has waited for it: then the pidfd hangs up (LIBDISPATCH and SYSTEMD B). Confined to its context.
final class WatchedProcess {
    /// Boot-time microsecond of its start, to the hundredth of a second.
    let started: Int64?
    private let epoll: EpollSet
    private var pidfd: FileDescriptor?
    private var token: UInt64?
    private let handler: (Exit?) -> Void

    /// Calls `handler` once, with how it ended where the kernel tells (6.15 or newer).
    init(_ pid: Int32, epoll: EpollSet, handler: @escaping (Exit?) -> Void) throws(SystemError) {
        self.epoll = epoll
        self.handler = handler
        let descriptor = try Linux.pidfdOpen(pid)
        let number = descriptor.rawValue
        started = Self.startTime(pid)
        pidfd = consume descriptor
        do throws(SystemError) {
            token = try epoll.add(number, .readable) { [unowned self] in changed(number, $0) }
        } catch {
            cancel()
            throw error
        }
    }

    func cancel() {
        if let token { epoll.remove(token) }
        token = nil
        pidfd.take()?.close()
    }

    private func changed(_ number: Int32, _ events: EpollEvents) {
        guard let token else { return }
        do throws(SystemError) {
            if let exit = try Linux.pidfdInfo(number).exit { return handler(Exit(exit)) }
        } catch {
            // An older kernel, or a process that has left no trace: it has ended, how is not known.
            return handler(nil)
        }
        if events.contains(.hangUp) { return handler(nil) }
        // A zombie: nothing more to read until its parent has waited; only the hang-up counts from here on.
        try? epoll.modify(token, [])
    }

    /// Field 22 of `/proc/PID/stat`, in clock ticks (`proc(5)`); the second field may hold spaces and parentheses.
    private static func startTime(_ pid: Int32) -> Int64? {
        guard let text = try? Linux.readFile("/proc/\(pid)/stat", limit: 4096),
            let end = text.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
        guard fields.count > 19, let ticks = Int64(String(decoding: fields[19], as: UTF8.self)) else { return nil }
        // USER_HZ is 100 on every architecture that Linux still runs on.
        return ticks * 10_000
    }
}

extension Exit {
    package init(_ status: ExitStatus) {
        switch status {
        case .exited(let code): self = .exited(code)
        case .signaled(let number, _): self = .signaled(number)
        }
    }
}
