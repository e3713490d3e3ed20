import JSON

/// The server's side of one Varlink connection: bytes in, calls out; replies in, bytes out.
///
/// A pure state machine. Its owner has the socket and the clock, and does this:
///
/// - while `wantsInput`, reads and gives what came to `receive`, the end of the stream to `receiveEnd`;
/// - after that, and after each reply and each write, takes a call with `next` while it `hasNext`, at once or later;
/// - answers each call exactly once, now or later, a call with `wantsMore` by any number of continued replies before
///   that; a oneway call is answered like any other, and nothing is sent; of a stream that has no end it says so with
///   `beginStream`;
/// - writes `pendingOutput`, as much as the socket takes, and says how much with `consumeOutput`;
/// - closes the socket when a message of which half has come (`halfMessage`) is not whole after `messagePatience` seconds;
/// - closes the socket when `isFinished`, and at the latest `closingGrace` seconds after `ending` was set.
///
/// Replies keep the order of the calls because a call is handed out only when the one before has been answered. Memory
/// is bounded: `wantsInput` is false while enough waits, no call is handed out while the client does not read its
/// replies, and a stream whose client does not read is cut off with an error, for which one slot is kept.
///
/// The protocol: varlink.org/Method-Call.
package struct ServerConnection: Sendable {
    /// Bytes of one message from the client, without the NUL that ends it.
    package static let maximumMessageSize = 1 << 20
    /// Calls that wait for the one before them; more is not read.
    package static let maximumWaitingCalls = 64
    /// Replies that the client has not read; no call is handed out above it, and no stream goes on.
    package static let maximumQueuedReplies = 64
    /// Bytes of these replies. One reply may be larger, if it is alone.
    package static let maximumQueuedBytes = 1 << 20
    /// Seconds that a client has for reading its last replies once the connection is ending.
    package static let closingGrace = 10

    /// Seconds that a client has for a message, from its first byte to its last.
    package static let messagePatience = 10

    /// Why the connection takes no more calls.
    package enum Ending: Equatable, Sendable {
        /// The client sent something that is no call; the text says what.
        case malformed(String)
        /// The client let too many replies of a stream wait.
        case slowSubscriber
        /// The client closed its side, and everything it had asked is answered.
        case closed
    }

    /// Set once; nothing is handed out or accepted afterwards.
    package private(set) var ending: Ending?

    private var input = InputFrames()
    private var output = OutputQueue()
    private var current: Unanswered?
    private var callCount = 0
    private var isInputClosed = false
    /// The last call that was a stream without an end.
    private var endlessCall: Int?
    private let slowSubscriberError: ErrorReply

    /// The part of a call that is still needed after it was handed out; its parameters may be large.
    private struct Unanswered {
        let number: Int
        let isOneway: Bool
        let wantsMore: Bool

        init(_ call: Call) { (number, isOneway, wantsMore) = (call.number, call.isOneway, call.wantsMore) }
    }

    /// - Parameter slowSubscriberError: the last reply of a stream that is cut off.
    package init(slowSubscriberError: ErrorReply) { self.slowSubscriberError = slowSubscriberError }

    // MARK: Input

    /// Whether to read from the client now.
    package var wantsInput: Bool { ending == nil && input.hasRoom }

    /// The number of a message that has begun to come while nothing else of the client is at hand or being answered.
    package var halfMessage: Int? { ending == nil && current == nil && input.isHalfway ? callCount + 1 : nil }

    package mutating func receive(_ bytes: [UInt8]) {
        guard ending == nil else { return }
        input.append(bytes)
    }

    /// The client will send nothing more. Its earlier calls are still answered, but for an endless stream.
    package mutating func receiveEnd() {
        guard ending == nil else { return }
        input.close()
        isInputClosed = true
        endStreamOfNobody()
    }

    /// The call to be answered now is answered by a stream that goes on until its client goes. Ignored like `reply`.
    package mutating func beginStream(_ call: Int) {
        guard ending == nil, let current, current.number == call, current.wantsMore else { return }
        endlessCall = call
        endStreamOfNobody()
    }

    private mutating func endStreamOfNobody() {
        guard isInputClosed, let current, current.number == endlessCall else { return }
        self.current = nil
        ending = .closed
    }

    /// `next` has something to do: a call to hand out, or an end to note.
    package var hasNext: Bool { ending == nil && current == nil && !isOutputFull && input.hasNext }

    /// The next call, if the one before has been answered and the client reads its replies.
    package mutating func next() -> Call? {
        while ending == nil, current == nil, !isOutputFull {
            switch input.next() {
            case .message(let message): if let call = take(message) { return call }
            case .failure(let reason): ending = .malformed(reason)
            case .end: ending = .closed
            case .nothingYet: return nil
            }
        }
        return nil
    }

    /// - Returns: the call to be answered now; `nil`: the message is answered.
    private mutating func take(_ message: [UInt8]) -> Call? {
        callCount += 1
        do throws(Call.Malformed) {
            let call = try Call(number: callCount, message: message)
            if call.wantsUpgrade {
                if !call.isOneway { enqueue(error: .invalidParameter("upgrade")) }
                return nil
            }
            current = Unanswered(call)
            return call
        } catch {
            // A message that is no object may have been a oneway call: it is not answered.
            if let member = error.member { enqueue(error: .invalidParameter(member)) }
            ending = .malformed(error.reason)
            return nil
        }
    }

    // MARK: Replies

    /// The last reply of a call. Ignored unless that call is the one to be answered now: its stream may have been cut
    /// off.
    package mutating func reply(to call: Int, with parameters: some Encodable = NoParameters()) {
        guard let answered = answer(call), !answered.isOneway else { return }
        enqueue(OutgoingReply(parameters: parameters))
    }

    /// An error as the last reply of a call. Ignored like `reply`.
    package mutating func fail(_ call: Int, with error: ErrorReply) {
        guard let answered = answer(call), !answered.isOneway else { return }
        enqueue(error: error)
    }

    /// One reply of a stream, with more to come.
    /// - Returns: false if the stream is over, because its client is gone, is too slow, or never asked for `more`.
    package mutating func continueReply(to call: Int, with parameters: some Encodable) -> Bool {
        guard ending == nil, let current, current.number == call, current.wantsMore else { return false }
        guard enqueue(OutgoingReply(parameters: parameters, continues: true), isPartOfStream: true) else {
            self.current = nil
            enqueue(error: slowSubscriberError)
            ending = .slowSubscriber
            return false
        }
        return true
    }

    /// Too many replies wait for the client: a stream had better wait until some have been written.
    package var isOutputFull: Bool { !output.hasRoom(for: 0) }

    private mutating func answer(_ call: Int) -> Unanswered? {
        guard ending == nil, let current, current.number == call else { return nil }
        self.current = nil
        return current
    }

    private mutating func enqueue(error: ErrorReply) {
        enqueue(OutgoingReply(parameters: error.parameters, error: error.name))
    }

    @discardableResult
    private mutating func enqueue(_ reply: OutgoingReply<some Encodable>, isPartOfStream: Bool = false) -> Bool {
        guard let message = try? JSON.encode(reply) else {
            // A value that JSON cannot say is the service's mistake; the client still gets its reply.
            if !isPartOfStream { enqueue(error: .system(74, "EBADMSG")) }
            return !isPartOfStream
        }
        // As elsewhere, one message may go beyond the bytes: who asks `isOutputFull` before is never refused.
        if isPartOfStream, isOutputFull { return false }
        output.append(message)
        return true
    }

    // MARK: Output

    /// Bytes to write.
    package var pendingOutput: ArraySlice<UInt8> { output.bytes }

    /// - Parameter count: how many of `pendingOutput` have been written.
    package mutating func consumeOutput(_ count: Int) { output.consume(count) }

    /// Nothing is left to do: close the socket.
    package var isFinished: Bool { ending != nil && output.bytes.isEmpty }
}

/// A reply as it travels; it holds these members and nothing else (`varlinkctl` hangs up otherwise).
private struct OutgoingReply<Parameters: Encodable>: Encodable {
    var parameters: Parameters
    var continues: Bool?
    var error: String?
}
