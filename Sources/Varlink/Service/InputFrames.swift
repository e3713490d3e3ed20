/// The bytes that a client sent, cut into messages at its NULs. The messages do not depend on how the bytes were cut
/// into chunks.
struct InputFrames {
    enum Next {
        case message([UInt8])
        /// A message that is too long, or that ended without its NUL.
        case failure(String)
        case end
        case nothingYet
    }

    private enum End {
        case open, closed, tooLong
    }

    private var messages: [[UInt8]] = []
    private var messageBytes = 0
    /// The beginning of a message whose NUL has not come.
    private var partial: [UInt8] = []
    private var end = End.open

    var hasRoom: Bool {
        end == .open && messages.count < ServerConnection.maximumWaitingCalls
            && messageBytes < ServerConnection.maximumMessageSize
    }

    /// `next` gives something.
    var hasNext: Bool { !messages.isEmpty || end != .open }

    /// A message has begun to come, and nothing is whole before it.
    var isHalfway: Bool { messages.isEmpty && end == .open && !partial.isEmpty }

    mutating func append(_ bytes: [UInt8]) {
        guard end == .open else { return }
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0) {
            guard extend(by: rest[..<end]) else { return }
            messages.append(partial)
            messageBytes += partial.count
            partial = []
            rest = rest[(end + 1)...]
        }
        _ = extend(by: rest)
    }

    mutating func close() {
        if end == .open { end = .closed }
    }

    mutating func next() -> Next {
        if !messages.isEmpty {
            let message = messages.removeFirst()
            messageBytes -= message.count
            return .message(message)
        }
        return switch end {
        case .open: .nothingYet
        case .tooLong: .failure("a message of more than \(ServerConnection.maximumMessageSize) bytes")
        case .closed where partial.isEmpty: .end
        case .closed: .failure("half a message")
        }
    }

    private mutating func extend(by bytes: ArraySlice<UInt8>) -> Bool {
        guard partial.count + bytes.count <= ServerConnection.maximumMessageSize else {
            end = .tooLong
            partial = []
            return false
        }
        partial += bytes
        return true
    }
}
