import Engine
import LinuxSystem
package import WatchFile

/// `ListenDatagram=`: datagrams sent to a socket, whole or cut into lines. A durable one takes no datagram out of the
/// socket before what it said is safely stored. Confined to its context.
package final class DatagramSource: EventSource {
    private let id: SourceID
    private let trigger: DescriptorTrigger
    private let environment: SourceEnvironment
    private let address: SocketAddress
    private let opening: SocketOpening
    private let maker: LineMaker
    private var guardian: FileGuard?
    private var socket: (any DescriptorReader)?
    private var retry = Retry()
    private let isDurable: Bool
    /// Its file is another one, or none.
    private var isLost = false
    /// The file of the socket.
    private var file: (device: UInt64, inode: UInt64)?
    private var isHeld = false
    /// Datagrams that the kernel has dropped, as far as they are counted; `nil`: it drops none.
    private var drops: UInt32?

    /// - Parameters:
    ///   - isDurable: what it tells is stored.
    ///   - spare: where it finds, and leaves, its socket.
    package init(
        _ id: SourceID, _ address: SocketAddress, _ trigger: DescriptorTrigger, _ environment: SourceEnvironment,
        isDurable: Bool = false, spare: SpareDescriptors = SpareDescriptors()
    ) {
        self.id = id
        self.address = address
        self.trigger = trigger
        self.environment = environment
        opening = SocketOpening(id: id, address: address, type: .datagram, environment: environment, spare: spare)
        maker = LineMaker(id, trigger, environment)
        self.isDurable = isDurable
        socket = isDurable ? durableSocket() : plainSocket()
        guardian = opening.path.map { path in
            FileGuard(path, hub: environment.inotify) { [weak self] in self?.lost(path) }
        }
    }

    private func plainSocket() -> any DescriptorReader {
        HeldDescriptor(on: environment.core, epoll: environment.epoll) {
            [weak self] number throws(SystemError) in
            try self?.read(number) ?? .empty
        } tell: { [environment, id] facts in
            environment.tell(id, facts)
        } ended: {
            // A socket has no end.
        } failed: { [weak self] error in
            self?.failed(error)
        }
    }

    private func durableSocket() -> any DescriptorReader {
        let untaken = environment.untaken[id]
        return DurableDescriptor(on: environment, untaken: untaken) { [weak self] number throws(SystemError) in
            self?.look(number) ?? .init()
        } consume: { number, count throws(SystemError) in
            for _ in 0..<count { _ = try Linux.receiveDatagram(number, limit: 0) }
        } tell: { [maker, environment, id] fact, isRepeated in
            if let sifted = maker.sift(fact) { environment.tell(id, sifted, isRepeated, untaken) }
        } ended: {
            // A socket has no end.
        } failed: { [weak self] error in
            self?.failed(error)
        }
    }

    package var watchCount: Int { guardian?.watchCount ?? 0 }

    package var descriptorCount: Int { socket?.isOpen == true ? 1 : 0 }

    package var keptName: KeptDescriptor? { .socket(id) }

    package func open() {
        FileOwner.of(id, trigger, environment) { [weak self] owner in
            guard let self, let socket, !isClosing else { return }
            if isLost, isBack { isLost = false }
            // Its told datagrams are in the old one.
            if isLost, !socket.isSettled { return closeFirst() }
            do throws(SystemError) {
                try open(socket, owner.get())
                guard self.socket != nil else { return }
                retry.reset()
                environment.send(.source(id, .armed))
                guardian?.watch()
            } catch {
                failed(error)
            }
        }
    }

    private func open(_ socket: any DescriptorReader, _ owner: FileOwner) throws(SystemError) {
        // One that is bound already only wants its place in the epoll set.
        if socket.isOpen, !isLost { return try socket.watch() }
        if isLost { environment.forget(.socket(id)) }
        let new = try opening.takeOrBind(owner)
        if let number = socket.number {
            drain(number)
            // Closed by what that told.
            guard self.socket != nil else { return new.close() }
            environment.tellUnread(.socket(id), number)
        }
        isLost = false
        file = fileAtPath
        drops = isOfNetwork ? Linux.drops(new.rawValue) : nil
        try socket.open(new)
    }

    private var isOfNetwork: Bool {
        switch address {
        case .ipv4, .ipv6: true
        case .unix, .abstract: false
        }
    }

    /// All that waited was read: what there was no room for is counted.
    private func countDrops(_ number: Int32) {
        guard let drops else { return }
        let now = Linux.drops(number)
        guard now != drops else { return }
        self.drops = now
        let count = Int(now &- drops)
        let what = count == 1 ? "1 datagram" : "\(count) datagrams"
        environment.warn(id, "the kernel has dropped \(what), for which its socket had no room")
        environment.send(.gap(id, count))
    }

    private var fileAtPath: (device: UInt64, inode: UInt64)? {
        opening.path.flatMap { try? Linux.lstat($0) }.map { ($0.device, $0.inode) }
    }

    /// A socket that was taken away is where it was: a folder above it was moved away and back.
    private var isBack: Bool {
        guard let file, let now = fileAtPath else { return false }
        return file == now && socket?.isOpen == true
    }

    /// Nobody finds it any more: it is made anew.
    private func lost(_ path: [UInt8]) {
        guard socket != nil else { return }
        environment.send(.source(id, .waiting("\(path.printable) was removed; watchd makes it again")))
        isLost = true
        open()
    }

    /// It is closed as soon as what was told of it is consumed.
    private var isClosing: Bool { socket.map { !$0.isOpen && $0.number != nil } ?? false }

    private func closeFirst() {
        socket?.close { [weak self, environment, id] old in
            self?.drain(old.rawValue)
            environment.tellUnread(.socket(id), old.rawValue)
            old.close()
            self?.reopen()
        }
    }

    private func reopen() {
        guard socket != nil else { return }
        let new = isDurable ? durableSocket() : plainSocket()
        if isHeld { new.hold() }
        socket = new
        open()
    }

    /// It is about to be closed, and nobody sends to it any more but who has it open.
    private func drain(_ number: Int32) {
        while socket != nil, !isHeld, let datagram = try? Linux.receiveDatagram(number, limit: trigger.maxLength) {
            environment.tell(id, maker.facts(datagram))
        }
    }

    private func failed(_ error: SystemError) {
        guard socket != nil else { return }
        retry.schedule(id, trigger.paths, environment) { [weak self] in self?.open() }
        environment.send(.source(id, retry.condition(error.reason)))
    }

    package func close() { close {} }

    package func close(then left: @escaping () -> Void) {
        retry.cancel()
        let isOpen = socket?.number != nil
        socket?.close { [opening] in
            opening.leave($0)
            left()
        }
        socket = nil
        guardian?.close()
        guardian = nil
        if !isOpen { left() }
    }

    package func rest() {
        retry.cancel()
        hold()
    }

    package func hold() {
        isHeld = true
        socket?.hold()
    }

    package func positionsCame() { socket?.lookAgain() }

    package func release() {
        isHeld = false
        do throws(SystemError) { try socket?.release() } catch { failed(error) }
    }

    private func read(_ number: Int32) throws(SystemError) -> HeldDescriptor<LineFact>.Reading {
        // An error that waits on the socket (an ICMP answer to nobody) is taken by the read, and is no event.
        guard let datagram = try? Linux.receiveDatagram(number, limit: trigger.maxLength) else {
            countDrops(number)
            return .empty
        }
        return .items(maker.facts(datagram), bytes: datagram.bytes.count)
    }

    /// Waiting errors that are passed over to see whether a datagram is behind them.
    private static let errorsPerLook = 16

    /// The next datagram, left where it is.
    private func look(_ number: Int32) -> DurableDescriptor<LineFact>.Batch {
        var errors = 0
        while errors < Self.errorsPerLook {
            do throws(SystemError) {
                let limit = trigger.maxLength
                guard let datagram = try Linux.receiveDatagram(number, limit: limit, peeking: true) else { break }
                let facts = maker.unsifted(datagram)
                // An empty one that is cut into lines says nothing.
                if facts.isEmpty { _ = try Linux.receiveDatagram(number, limit: 0) }
                let last = facts.count - 1
                if last >= 0 { return .init(of: facts, datagram.bytes) }
            } catch {
                // An ICMP answer to nobody, which is taken by the look.
                errors += 1
            }
        }
        countDrops(number)
        return .init()
    }
}
