package import Engine
package import LinuxSystem

/// A process that is not our child. Its pidfd is readable when it has ended, but how it ended is known only when its
/// parent has waited for it: then the pidfd hangs up (LIBDISPATCH and SYSTEMD B). Confined to its context.
package final class WatchedProcess {
    /// Boot-time microsecond of its start, to the hundredth of a second.
    package let started: Int64?
    private let epoll: EpollSet
    private var pidfd: FileDescriptor?
    private var token: UInt64?
    private let handler: (Exit?) -> Void
    private let lingers: () -> Void

    /// Calls `handler` once, with how it ended where the kernel tells (6.15 or newer).
    convenience init(_ pid: Int32, epoll: EpollSet, handler: @escaping (Exit?) -> Void) throws(SystemError) {
        try self.init(pid, try Linux.pidfdOpen(pid), epoll: epoll, handler: handler)
    }

    /// The same, by a descriptor of the process that is open already.
    ///
    /// - Parameter lingers: called when it has ended and its parent has not waited for it yet, which may never happen.
    package init(
        _ pid: Int32, _ descriptor: consuming FileDescriptor, epoll: EpollSet, lingers: @escaping () -> Void = {},
        handler: @escaping (Exit?) -> Void
    ) throws(SystemError) {
        self.lingers = lingers
        self.epoll = epoll
        self.handler = handler
        let number = descriptor.rawValue
        started = Linux.place(of: pid)?.started
        pidfd = consume descriptor
        do throws(SystemError) {
            token = try epoll.add(number, .readable) { [unowned self] in changed(number, $0) }
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
        do throws(SystemError) {
            if let exit = try Linux.pidfdInfo(number).exit { return handler(Exit(exit)) }
        } catch  where error.errno == .noSuchProcess {
            // Its parent waited for it just while the kernel was asked, which had looked for the exit before: again.
            return handler((try? Linux.pidfdInfo(number))?.exit.map { Exit($0) })
        } catch {
            // An older kernel, or a process that has left no trace: it has ended, how is not known.
            return handler(nil)
        }
        if events.contains(.hangUp) { return handler(nil) }
        // A zombie: nothing more to read until its parent has waited; only the hang-up counts from here on.
        try? epoll.modify(token, [])
        lingers()
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
