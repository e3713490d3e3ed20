import Engine
import LinuxSystem
import WatchFile

extension SourceEnvironment {
    /// A descriptor of a source is about to be closed: what nobody has read of it is named.
    ///
    /// - Parameter unfinished: was taken out of it.
    func tellUnread(_ name: KeptDescriptor, _ number: Int32, unfinished: Unfinished = Unfinished()) {
        guard let id = name.source, let (what, count) = UnreadText.of(name, number, unfinished) else { return }
        warn(id, what)
        send(.gap(id, count))
    }

    /// Lines that were taken out of it, and that nobody will go on with, are named.
    func tellLost(_ id: SourceID, _ unfinished: Unfinished, _ reason: String) {
        guard !unfinished.isEmpty else { return }
        let what = unfinished.facts.isEmpty ? "the beginning of a line is lost" : "lines that were read are lost"
        warn(id, "\(what) (\(UnreadText.bytes(unfinished.size))): \(reason)")
        send(.gap(id, unfinished.lines))
    }
}

/// The content of a descriptor, in words.
enum UnreadText {
    /// `nil`: nothing. Of a socket that listens, connections are let in to be looked at.
    static func of(_ name: KeptDescriptor, _ number: Int32, _ unfinished: Unfinished) -> (text: String, count: Int)? {
        if Linux.isListening(number) {
            let count = waiting(number)
            let connections = count == 1 ? "1 pending connection" : "\(count) pending connections"
            return count == 0 ? nil : ("closing its socket; \(connections) had sent data that was never read", count)
        }
        let size = unfinished.size + ((try? Linux.bytesAvailable(number)) ?? 0)
        let bytes = bytes(size)
        let what =
            switch name {
            case .connection: "a connection is closed with \(bytes)"
            case .fifo: "its FIFO is closed with \(bytes)"
            case .socket, .inotify, .pidfd, .output: "its socket is closed with datagrams"
            }
        return size == 0 ? nil : (what + " that nobody has read", max(1, unfinished.lines))
    }

    static func bytes(_ size: Int) -> String { size == 1 ? "1 byte" : "\(size) bytes" }

    private static func waiting(_ number: Int32) -> Int {
        var count = 0
        // A handler may have had it, which knows nothing of it being otherwise (`Framing=ready`).
        guard (try? Linux.setNonBlocking(number)) != nil else { return 0 }
        for _ in 0..<SocketOpening.waitingInKernel {
            guard let connection = try? Linux.accept(number) else { break }
            if (try? Linux.bytesAvailable(connection.rawValue)) ?? 0 > 0 { count += 1 }
            connection.close()
        }
        return count
    }
}
