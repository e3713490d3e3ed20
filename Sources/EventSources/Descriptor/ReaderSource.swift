import Engine
import LinuxSystem
import WatchFile

/// A descriptor that is opened and read, and opened anew when it has ended: `ListenSpecial=`, `ListenNetlink=`,
/// `ListenMessageQueue=`, and what `FileDescriptorName=` finds. Bytes that are read of it are consumed at once.
/// Confined to its context.
package final class ReaderSource: EventSource {
    /// How it is read.
    enum Kind {
        case bytes, datagrams, packets, messages
    }

    private let id: SourceID
    private let trigger: DescriptorTrigger
    private let environment: SourceEnvironment
    private let kind: Kind
    private let opening: (FileOwner) throws(SystemError) -> FileDescriptor
    private let maker: LineMaker
    private let spare: SpareDescriptors
    private var reader: HeldDescriptor<LineFact>?
    private var retry = Retry()

    init(
        _ id: SourceID, _ trigger: DescriptorTrigger, _ environment: SourceEnvironment, kind: Kind,
        spare: SpareDescriptors = SpareDescriptors(),
        opening: @escaping (FileOwner) throws(SystemError) -> FileDescriptor
    ) {
        self.id = id
        self.trigger = trigger
        self.environment = environment
        self.kind = kind
        self.opening = opening
        maker = LineMaker(id, trigger, environment)
        self.spare = spare
        reader = HeldDescriptor(on: environment.core, epoll: environment.epoll) {
            [weak self] number throws(SystemError) in
            try self?.read(number) ?? .empty
        } tell: { [environment, id] facts in
            environment.tell(id, facts)
        } ended: { [weak self] in
            self?.failed("it has ended")
        } failed: { [weak self] error in
            // The rest of a line goes with what it was read of.
            if let self { environment.tell(id, maker.rest()) }
            self?.failed(error.reason)
        }
    }

    package var descriptorCount: Int { reader?.isOpen == true ? 1 : 0 }

    package func open() {
        FileOwner.of(id, trigger, environment) { [weak self] owner in
            guard let self, let reader else { return }
            do throws(SystemError) {
                try reader.open(try opening(owner.get()))
                retry.reset()
                environment.send(.source(id, .armed))
            } catch {
                failed(error.reason)
            }
        }
    }

    private func failed(_ reason: String) {
        guard reader != nil else { return }
        retry.schedule(id, trigger.paths, environment) { [weak self] in self?.open() }
        environment.send(.source(id, retry.condition(reason)))
    }

    package func close() {
        retry.cancel()
        if let reader { spare.leave(id, reader.untold + maker.rest()) }
        reader?.close { $0.close() }
        reader = nil
    }

    package func hold() { reader?.hold() }

    package func rest() {
        retry.cancel()
        hold()
        var unfinished = maker.unfinished
        unfinished.facts = reader?.untold ?? []
        environment.tellLost(id, unfinished, "its end has not come in time")
    }

    package func release() {
        do throws(SystemError) { try reader?.release() } catch { failed(error.reason) }
    }

    private func read(_ number: Int32) throws(SystemError) -> HeldDescriptor<LineFact>.Reading {
        switch kind {
        case .bytes: return try environment.buffer.read(number, maker)
        case .datagrams:
            do throws(SystemError) {
                return reading(try Linux.receiveDatagram(number, limit: trigger.maxLength))
            } catch  where error.errno == .noBufferSpace {
                // The kernel had more to say than there was room for (`netlink(7)`).
                maker.noteLost(1)
                return .items([], bytes: 0)
            }
        case .packets:
            let packet = try Linux.receiveDatagram(number, limit: trigger.maxLength)
            // One of nothing cannot be told from the end (`recv(2)`).
            return packet?.bytes.isEmpty == true ? .end([]) : reading(packet)
        case .messages: return reading(try Linux.receiveMessage(number, limit: trigger.maxLength))
        }
    }

    private func reading(_ datagram: Datagram?) -> HeldDescriptor<LineFact>.Reading {
        datagram.map { .items(maker.facts($0), bytes: $0.bytes.count) } ?? .empty
    }
}

/// The descriptors that the service manager has passed, by name; open as long as watchd runs. Confined to its context.
package final class PassedDescriptors {
    private let numbers: [String: [Int32]]

    package init(_ numbers: [String: [Int32]] = [:]) { self.numbers = numbers }

    func number(_ name: String) throws(SystemError) -> Int32 {
        guard let found = numbers[name], let first = found.first else {
            throw SystemError(
                call: "FileDescriptorName=\(name)",
                detail:
                    "nothing was passed under this name; a socket unit passes it that has FileDescriptorName=\(name) "
                    + "and Service=watchd.service (systemd.socket(5)), and is started before watchd",
                errno: .badDescriptor)
        }
        guard found.count == 1 else {
            throw SystemError(
                call: "FileDescriptorName=\(name)", detail: "\(found.count) were passed under one name",
                errno: .invalidArgument)
        }
        return first
    }

    /// For a source to have and to close.
    func duplicate(_ name: String) throws(SystemError) -> FileDescriptor {
        let number = try number(name)
        try Linux.setNonBlocking(number)
        return try Linux.duplicate(number)
    }
}
