import Engine
import LinuxSystem
import WatchFile

/// One connection that is read: its lines are its own, and what it leaves unterminated is told when it hangs up.
/// Confined to its context.
final class StreamConnection {
    private let id: SourceID
    private let environment: SourceEnvironment
    private let trigger: DescriptorTrigger
    private let isPackets: Bool
    private let maker: LineMaker
    private let view: StreamView?
    private var reader: (any DescriptorReader)?
    private let gone: () -> Void

    /// - Parameters:
    ///   - untaken: of all connections of the source, if it is durable.
    ///   - isFound: it may have been a connection of the daemon before.
    ///   - gone: it has hung up and everything is told.
    init(
        _ id: SourceID, _ trigger: DescriptorTrigger, _ environment: SourceEnvironment, peer: String?,
        isPackets: Bool, isDurable: Bool, untaken: UntakenBytes? = nil, isFound: Bool = false,
        gone: @escaping () -> Void
    ) {
        self.id = id
        self.environment = environment
        self.trigger = trigger
        self.gone = gone
        self.isPackets = isPackets
        maker = LineMaker(id, trigger, environment)
        maker.peer = peer
        view = isDurable ? StreamView(trigger, maker, on: environment.core, isPackets: isPackets) : nil
        reader =
            view.map { durable($0, untaken, isFound: isFound) } ?? plain { environment.tell(id, $0) }
    }

    private func plain(_ tell: @escaping ([LineFact]) -> Void) -> any DescriptorReader {
        HeldDescriptor(on: environment.core, epoll: environment.epoll) {
            [weak self] number throws(SystemError) in
            self?.read(number) ?? .empty
        } tell: {
            tell($0)
        } ended: { [weak self] in
            self?.hungUp()
        } failed: { [weak self] _ in
            self?.hungUp()
        }
    }

    private func durable(_ view: StreamView, _ untaken: UntakenBytes?, isFound: Bool) -> any DescriptorReader {
        let reader = DurableDescriptor(on: environment, untaken: untaken, isFound: isFound) {
            number throws(SystemError) in
            try view.look(number)
        } consume: { number, count throws(SystemError) in
            try view.consume(number, count)
        } tell: { [maker, environment, id] fact, isRepeated in
            view.told()
            if let sifted = maker.sift(fact) { environment.tell(id, sifted, isRepeated, untaken) }
        } ended: { [weak self] in
            self?.hungUp()
        } failed: { [weak self] _ in
            self?.hungUp()
        }
        view.again = { [weak reader] in reader?.lookAgain() }
        return reader
    }

    private func unfinished(_ untold: [LineFact]) -> Unfinished {
        // Of a durable one the mark tells whether it goes on in a line that was cut.
        var unfinished = view.map { Unfinished(bytes: $0.unfinished) } ?? maker.unfinished
        unfinished.facts = untold
        return unfinished
    }

    /// - Parameter unfinished: was taken out of it before.
    func open(_ connection: consuming FileDescriptor, unfinished: Unfinished) {
        let resumed = isPackets ? maker.sift(unfinished.facts) : resume(connection.rawValue, unfinished)
        // Without a place in the epoll set nobody would ever read it.
        do throws(SystemError) { try reader?.open(connection) } catch { hungUp() }
        environment.tell(id, resumed)
    }

    private func resume(_ number: Int32, _ known: Unfinished) -> [LineFact] {
        let beginning = LineBeginning(number, known, trigger)
        if beginning.isLost {
            environment.warn(id, "the beginning of a line is lost, and what follows of it is skipped")
            environment.send(.gap(id, 1))
        }
        var unfinished = known
        unfinished.isSkipping = beginning.isSkipping
        guard let view, trigger.framing == .line else {
            LineBeginning.end(number)
            return maker.resume(unfinished)
        }
        view.resume(number, unfinished)
        return maker.sift(unfinished.facts)
    }

    func hold() { reader?.hold() }

    func lookFirst() { reader?.lookFirst() }

    func lookAgain() { reader?.lookAgain() }

    func release() { do throws(SystemError) { try reader?.release() } catch { hungUp() } }

    /// Somebody else goes on with it, who does not have what was taken out of it.
    func rest() {
        guard let reader, let number = reader.number else { return }
        let lost = unfinished(reader.untold)
        if !lost.bytes.isEmpty { LineBeginning.tellOfLoss(number) }
        environment.tellLost(id, lost, "its end has not come in time")
    }

    /// - Parameter heir: is given the connection when everything that was told of it is consumed, and what was taken
    ///   out of it and is not told.
    func close(_ heir: @escaping (consuming FileDescriptor, Unfinished) -> Void, then left: @escaping () -> Void) {
        guard let reader, reader.isOpen else { return left() }
        self.reader = nil
        let untold = reader.untold
        reader.close { [self] in
            heir($0, unfinished(untold))
            left()
        }
    }

    private func hungUp() {
        close(
            { connection, _ in
                // The service manager may have one too: whoever waits for this end is to see it now.
                try? Linux.shutdownWriting(connection.rawValue)
                connection.close()
            }, then: { [gone] in gone() })
    }

    /// An error of a connection is its end.
    private func read(_ number: Int32) -> HeldDescriptor<LineFact>.Reading {
        do throws(SystemError) {
            if isPackets { return try readPacket(number) }
            return try environment.buffer.read(number, maker)
        } catch {
            return .end(maker.rest())
        }
    }

    private func readPacket(_ number: Int32) throws(SystemError) -> HeldDescriptor<LineFact>.Reading {
        guard let datagram = try Linux.receiveDatagram(number, limit: trigger.maxLength) else { return .empty }
        // A packet of nothing cannot be told from the end (`recv(2)`).
        if datagram.bytes.isEmpty { return .end([]) }
        return .items(maker.facts(datagram), bytes: datagram.bytes.count)
    }
}
