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

    /// - Parameter gone: it has hung up and everything is told.
    init(
        _ id: SourceID, _ trigger: DescriptorTrigger, _ environment: SourceEnvironment, peer: String?,
        isPackets: Bool, isDurable: Bool, gone: @escaping () -> Void
    ) {
        self.id = id
        self.environment = environment
        self.trigger = trigger
        self.gone = gone
        self.isPackets = isPackets
        maker = LineMaker(id, trigger, environment)
        maker.peer = peer
        view = isDurable ? StreamView(trigger, maker, on: environment.core, isPackets: isPackets) : nil
        let tell: ([LineFact]) -> Void = { environment.tell(id, $0) }
        reader = view.map { durable($0, tell) } ?? plain(tell)
    }

    private func plain(_ tell: @escaping ([LineFact]) -> Void) -> any DescriptorReader {
        HeldDescriptor(on: environment.core, epoll: environment.epoll) {
            [unowned self] number throws(SystemError) in
            read(number)
        } tell: {
            tell($0)
        } ended: { [unowned self] in
            hungUp()
        } failed: { [unowned self] _ in
            hungUp()
        }
    }

    private func durable(_ view: StreamView, _ tell: @escaping ([LineFact]) -> Void) -> any DescriptorReader {
        let reader = DurableDescriptor(on: environment) { number throws(SystemError) in
            try view.look(number)
        } consume: { number, count throws(SystemError) in
            try view.consume(number, count)
        } tell: { [maker] fact in
            view.told()
            if let sifted = maker.sift(fact) { tell([sifted]) }
        } ended: { [unowned self] in
            hungUp()
        } failed: { [unowned self] _ in
            hungUp()
        }
        view.again = { [weak reader] in reader?.lookAgain() }
        return reader
    }

    /// Was taken out of it and is not told.
    var unfinished: [UInt8] { view?.unfinished ?? [] }

    /// - Parameter unfinished: was taken out of it before.
    func open(_ connection: consuming FileDescriptor, unfinished: [UInt8]) {
        if !isPackets {
            let beginning = LineBeginning(connection.rawValue, unfinished, trigger)
            if beginning.isLost {
                environment.warn(id, "the beginning of a line is lost, and what follows of it is skipped")
                environment.send(.gap(id, 1))
            }
            if let view { view.resume(beginning) } else { maker.resume(beginning) }
            if view == nil { LineBeginning.end(connection.rawValue) }
        }
        // Without a place in the epoll set nobody would ever read it.
        do throws(SystemError) { try reader?.open(connection) } catch { hungUp() }
    }

    func hold() { reader?.hold() }

    func release() { do throws(SystemError) { try reader?.release() } catch { hungUp() } }

    /// Somebody else goes on with it, who does not have what was taken out of it.
    func rest() {
        guard !unfinished.isEmpty, let number = reader?.number else { return }
        LineBeginning.tellOfLoss(number)
        let bytes = unfinished.count == 1 ? "1 byte" : "\(unfinished.count) bytes"
        environment.warn(id, "the beginning of a line is lost (\(bytes)): its end has not come in time")
        environment.send(.gap(id, 1))
    }

    /// - Parameter heir: is given the connection when everything that was told of it is consumed.
    func close(_ heir: @escaping (consuming FileDescriptor) -> Void, then left: @escaping () -> Void) {
        guard let reader, reader.isOpen else { return left() }
        self.reader = nil
        reader.close {
            heir($0)
            left()
        }
    }

    private func hungUp() {
        close(
            {
                // The service manager may have one too: whoever waits for this end is to see it now.
                try? Linux.shutdownWriting($0.rawValue)
                $0.close()
            }, then: { [gone] in gone() })
    }

    /// What goes wrong with a connection is its end.
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
