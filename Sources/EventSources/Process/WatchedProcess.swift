package import Engine
package import LinuxSystem

/// A process that is not our child. Its pidfd is readable when it has ended. How it ended stands in `/proc` until its
/// parent has waited for it, where we may look at it, and is told by the pidfd from then on (Linux 6.15; Systemd.md,
/// fact 24). Confined to its context.
package final class WatchedProcess {
    /// Microseconds that its parent is given to wait for it, where only then is known how it ended.
    private static let parentPatience = 2_000_000

    /// Boot-time microsecond of its start, to the hundredth of a second.
    package let started: Int64?
    private let processID: Int32
    private let core: Context
    private let epoll: EpollSet
    private var pidfd: FileDescriptor?
    private var token: UInt64?
    private let handler: (Exit?) -> Void

    /// Calls `handler` once, with how it ended, or `nil` where nobody tells.
    convenience init(
        _ pid: Int32, on core: Context, epoll: EpollSet, handler: @escaping (Exit?) -> Void
    ) throws(SystemError) {
        try self.init(pid, try Linux.pidfdOpen(pid), on: core, epoll: epoll, handler: handler)
    }

    /// The same, by a descriptor of the process that is open already.
    package init(
        _ pid: Int32, _ descriptor: consuming FileDescriptor, on core: Context, epoll: EpollSet,
        handler: @escaping (Exit?) -> Void
    ) throws(SystemError) {
        processID = pid
        self.core = core
        self.epoll = epoll
        self.handler = handler
        let number = descriptor.rawValue
        started = Linux.place(of: pid)?.started
        pidfd = consume descriptor
        do throws(SystemError) {
            token = try epoll.add(number, .readable) { [weak self] in self?.changed(number, $0) }
        } catch {
            cancel()
            throw error
        }
    }

    /// Its pidfd.
    package var number: Int32? { pidfd.number }

    package func cancel() {
        if let token { epoll.remove(token) }
        token = nil
        pidfd.take()?.close()
    }

    private func changed(_ number: Int32, _ events: EpollEvents) {
        guard let token else { return }
        var isReaped = events.contains(.hangUp)
        do throws(SystemError) {
            if let exit = try Linux.pidfdInfo(number).exit { return handler(Exit(exit)) }
        } catch  where error.errno == .noSuchProcess {
            // Its parent waited for it just while the kernel was asked, which had looked for the exit before: again.
            return handler((try? Linux.pidfdInfo(number))?.exit.map { Exit($0) })
        } catch {
            // An older kernel will not tell more than it does now.
            isReaped = true
        }
        if let exit = Linux.exit(ofZombie: processID, number) { return handler(Exit(exit)) }
        if isReaped { return handler(nil) }
        // A zombie: nothing more to read until its parent has waited; only the hang-up counts from here on.
        try? epoll.modify(token, [])
        let bound = QueueBound(self, to: core)
        core.after(Self.parentPatience) { bound.value.stillLingers() }
    }

    /// Its parent does not wait for it (the first process of some containers never does).
    private func stillLingers() {
        if token != nil { handler(nil) }
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
