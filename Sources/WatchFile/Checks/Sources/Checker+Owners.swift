/// Things that only one source can have, and what else goes by pairs.
extension Checker {
    mutating func checkOwners() {
        var signals: [Int32: (title: String, text: SourceText)] = [:]
        var sockets: [Owned: (title: String, text: SourceText)] = [:]
        if let path = settings.controlSocket,
            let entry = sections.first(where: { $0.kind == .watchd }).flatMap({
                Entries($0.entries).entry("ControlSocket")
            })
        {
            sockets[.file(path)] = ("[Watchd]", entry.text)
        }
        for source in sources {
            for signal in source.entries.list("Signal").flatMap({ $0.value?.signals ?? [] }) {
                if let other = signals[signal.number], other.title != source.title {
                    let name = LinuxSignal.name(signal.number)
                    problems.error(
                        "\(name) is claimed by \(other.title) in \(other.text.place) already", at: signal.text)
                } else {
                    signals[signal.number] = (source.title, signal.text)
                }
            }
            guard let (owned, text) = owned(by: source) else { continue }
            if let other = sockets[owned] {
                problems.error("\(text.shown) belongs to \(other.title) in \(other.text.place) already", at: text)
            } else {
                sockets[owned] = (source.title, text)
            }
        }
    }

    private enum Owned: Hashable {
        /// A FIFO, the file of a socket, a device: two readers would take each other's bytes.
        case file([UInt8])
        /// Ports of TCP and UDP are apart; abstract names are not.
        case address(SocketAddress, isStream: Bool)
        case messageQueue([UInt8])
        case passed(String)
    }

    private func owned(by source: SourceDraft) -> (Owned, SourceText)? {
        guard case .descriptor(let trigger)? = source.trigger,
            let entry = source.entries.first(of: Self.listenerKeys)
        else { return nil }
        return switch trigger.listener {
        case .fifo(let path), .special(let path), .datagram(.unix(let path)), .stream(.unix(let path)),
            .sequentialPacket(.unix(let path)):
            (.file(path), entry.text)
        case .datagram(let address): (.address(address, isStream: false), entry.text)
        case .stream(let address), .sequentialPacket(let address): (.address(address, isStream: true), entry.text)
        case .messageQueue(let name): (.messageQueue(name), entry.text)
        case .passed(let name): (.passed(name), entry.text)
        case .netlink, .command, .tail, .pressure: nil
        }
    }

    /// `Overlap=skip` and `Overlap=restart` speak of operations with the same key.
    mutating func checkOverlap() {
        for source in sources where source.hasNoKey {
            for index in handlersStarted(by: source) {
                guard let entry = handlers[index].entries.entry("Overlap"), let word = entry.value?.word,
                    ["skip", "restart"].contains(word)
                else { continue }
                let origin = source.entries.has("Key") ? "" : ", as that of descriptors is by default"
                problems.error(
                    "Overlap=\(word) never \(word)s for \(source.title), whose Key= is none\(origin)", at: entry.text)
            }
        }
    }

    /// Those of its routes, and what they require, each once.
    private func handlersStarted(by source: SourceDraft) -> [Int] {
        var started = source.routes.compactMap { handlerIndices[$0.handler] }.withoutRepeats
        var seen = Set(started)
        var next = 0
        while next < started.count {
            for name in handlers[started[next]].required.map(\.name.string) {
                if let index = handlerIndices[name], seen.insert(index).inserted { started.append(index) }
            }
            next += 1
        }
        return started
    }
}
