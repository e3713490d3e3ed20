import Engine
import LinuxSystem
import WatchFile

/// `Framing=ready`: a level condition. While the descriptor can be read (or written) one operation gets it; when that
/// has ended it is armed again: at once after a success that took something out of it (or put something into it), else
/// after 1 s, doubling to 1 min. A FIFO or socket that was taken away is made anew when nothing is left to be read of
/// it and no operation has it; what hangs up and has nothing to be read is closed and opened anew, after 1 s, doubling
/// to 1 min until an operation gets it (a FIFO at once: that ends the hang-up). Confined to its context.
package final class ReadySource: EventSource {
    private let id: SourceID
    private let trigger: DescriptorTrigger
    private let environment: SourceEnvironment
    private let origin: StreamSource.Origin
    private var guardian: FileGuard?
    private var descriptor: FileDescriptor?
    private var token: UInt64?
    /// Its file is another one, or none.
    private var isLost = false
    private var isOpening = false
    private var isHeld = false
    private var isHandedOver = false
    private var isClosed = false
    private var retry = Retry()
    private var unchanged = 0

    init(
        _ id: SourceID, _ trigger: DescriptorTrigger, _ environment: SourceEnvironment, origin: StreamSource.Origin
    ) {
        self.id = id
        self.trigger = trigger
        self.environment = environment
        self.origin = origin
        guardian = origin.path.map { path in
            FileGuard(path, hub: environment.inotify) { [weak self] in
                self?.isLost = true
                self?.renew()
            }
        }
    }

    package var watchCount: Int { guardian?.watchCount ?? 0 }

    package var descriptorCount: Int { descriptor.number == nil ? 0 : 1 }

    package var keptName: KeptDescriptor? { origin.keptName }

    package func open() {
        guard !isOpening else { return }
        isOpening = true
        FileOwner.of(id, trigger, environment) { [weak self] owner in
            self?.isOpening = false
            guard let self, !isClosed else { return }
            do throws(SystemError) {
                let opened = try origin.open(try owner.get())
                unwatch()
                descriptor.take()?.close()
                descriptor = consume opened
                isLost = false
                // A descriptor that can never be waited for is refused at once, not when it is released.
                if isHeld, let number = descriptor.number { try environment.epoll.check(number) }
                try watch()
                environment.send(.source(id, .armed))
                guardian?.watch()
            } catch {
                failed(error)
            }
        }
    }

    /// Nobody finds it any more: what is in it is handed over first, then it is made anew.
    private func renew() {
        guard !isClosed, let path = origin.path?.printable else { return }
        if isHandedOver {
            let reason = "\(path) was removed; watchd makes it again when its run has ended"
            return environment.send(.source(id, .waiting(reason)))
        }
        if trigger.readiness == .readable, let number = descriptor.number, isReadable(number) {
            environment.send(.source(id, .waiting("\(path) was removed; what is in it is read first")))
            do throws(SystemError) { return try watch() } catch { return failed(error) }
        }
        environment.send(.source(id, .waiting("\(path) was removed; watchd makes it again")))
        if case .fifo = trigger.listener {} else { environment.forget(.socket(id)) }
        open()
    }

    private func isReadable(_ number: Int32) -> Bool {
        (try? Linux.poll(number, .readable, timeout: 0))?.contains(.readable) ?? false
    }

    private func failed(_ error: SystemError) { failed(error.reason) }

    private func failed(_ reason: String) {
        guard !isClosed else { return }
        retry.schedule(id, trigger.paths, environment) { [weak self] in self?.openAgain() }
        environment.send(.source(id, retry.condition(reason)))
    }

    /// One that is open only wants its place in the epoll set: a socket could not be bound anew beside itself.
    private func openAgain() {
        guard let number = descriptor.number, !isLost else { return open() }
        do throws(SystemError) { if isHeld { try environment.epoll.check(number) } } catch { return failed(error) }
        again()
    }

    package func close() {
        isClosed = true
        retry.cancel()
        unwatch()
        guardian?.close()
        guardian = nil
        if let descriptor = descriptor.take() { origin.leave(descriptor) }
    }

    package func rest() {
        retry.cancel()
        hold()
    }

    package func hold() {
        isHeld = true
        unwatch()
    }

    package func release() {
        isHeld = false
        if isLost { return renew() }
        do throws(SystemError) { try watch() } catch { failed(error) }
    }

    private func watch() throws(SystemError) {
        guard token == nil, !isHeld, !isHandedOver, !isClosed, let number = descriptor.number else { return }
        let events: EpollEvents = trigger.readiness == .readable ? .readable : .writable
        token = try environment.epoll.add(number, events) { [weak self] in self?.ready($0) }
    }

    private func unwatch() {
        if let token { environment.epoll.remove(token) }
        token = nil
    }

    private func ready(_ events: EpollEvents) {
        unwatch()
        guard let number = descriptor.number else { return }
        if isOver(number, events) { return hungUp(number) }
        do throws(SystemError) {
            let handed = try Linux.duplicate(number)
            // The handler knows nothing of it being otherwise.
            try? Linux.setNonBlocking(number, false)
            isHandedOver = true
            let before = amount(number)
            if unchanged == 0 { retry.reset() }
            let handover = environment.handovers.add(handed) { [weak self] in self?.ended(before, hasFailed: $0) }
            environment.send(.event(id, .line(LineFact([], form: .ready, handover: handover))))
        } catch {
            failed(error)
        }
    }

    /// Only a new one ends that: nobody can get anything out of it, or into it.
    private func isOver(_ number: Int32, _ events: EpollEvents) -> Bool {
        if events.isDisjoint(with: [.readable, .writable]) { return true }
        guard events.contains(.hangUp) else { return false }
        return trigger.readiness == .writable || (try? Linux.bytesAvailable(number)) ?? 0 == 0
    }

    private func hungUp(_ number: Int32) {
        if case .fifo = trigger.listener { return open() }
        let error = Linux.takeError(number)
        // A socket could not be bound anew beside this one.
        if let name = origin.keptName { environment.forget(name) }
        descriptor.take()?.close()
        failed(error.map { "\($0)" } ?? "its other end has gone")
    }

    private func ended(_ before: Int?, hasFailed: Bool) {
        isHandedOver = false
        guard !isClosed, let number = descriptor.number else { return }
        try? Linux.setNonBlocking(number, true)
        guard hasFailed || isUnchanged(before, amount(number), number) else {
            (unchanged, retry) = (0, Retry())
            if isLost { return renew() }
            do throws(SystemError) { try watch() } catch { failed(error) }
            return environment.send(.source(id, .armed))
        }
        unchanged += 1
        retry.schedule(on: environment.core) { [weak self] in self?.again() }
        environment.send(.source(id, retry.unchanged(after: unchanged)))
    }

    /// Bytes to be read; or those on their way to a reader. `nil`: the kernel does not tell.
    private func amount(_ number: Int32) -> Int? {
        guard trigger.readiness == .writable else { return try? Linux.bytesAvailable(number) }
        do throws(SystemError) {
            return try Linux.bytesUnsent(number)
        } catch {
            // A pipe keeps what was written where it is read.
            return try? Linux.bytesAvailable(number)
        }
    }

    /// Room for more there is nearly always: without a sign of the handler having used it, it has not. Where nothing
    /// was to be read, an empty datagram was, or the end, which stays.
    private func isUnchanged(_ before: Int?, _ after: Int?, _ number: Int32) -> Bool {
        switch trigger.readiness {
        case .readable: before != nil && before == after && (after != 0 || isReadable(number))
        case .writable: before == after
        }
    }

    private func again() {
        if isLost { return renew() }
        do throws(SystemError) { try watch() } catch { return failed(error) }
        environment.send(.source(id, .armed))
    }
}
