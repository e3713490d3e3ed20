import Varlink

/// A `ServerConnection` whose mutating methods can stand in an expectation.
final class ConnectionUnderTest {
    private var connection = ServerConnection(slowSubscriberError: ErrorReply("org.example.TooSlow"))

    var ending: ServerConnection.Ending? { connection.ending }
    var isFinished: Bool { connection.isFinished }
    var isOutputFull: Bool { connection.isOutputFull }
    var pendingOutput: ArraySlice<UInt8> { connection.pendingOutput }
    var wantsInput: Bool { connection.wantsInput }

    func receive(_ bytes: [UInt8]) { connection.receive(bytes) }
    func receiveEnd() { connection.receiveEnd() }
    var halfMessage: Int? { connection.halfMessage }
    func beginStream(_ call: Int) { connection.beginStream(call) }
    func next() -> Call? { connection.next() }
    func reply(to call: Int) { connection.reply(to: call) }
    func reply(to call: Int, with parameters: some Encodable) { connection.reply(to: call, with: parameters) }
    func fail(_ call: Int, with error: ErrorReply) { connection.fail(call, with: error) }
    func consumeOutput(_ count: Int) { connection.consumeOutput(count) }

    func continueReply(to call: Int, with parameters: some Encodable) -> Bool {
        connection.continueReply(to: call, with: parameters)
    }

    /// Takes all replies that wait, as texts.
    func output() -> [String] {
        let bytes = Array(connection.pendingOutput)
        connection.consumeOutput(bytes.count)
        return texts(bytes)
    }
}

func message(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

/// The messages in `bytes`, the NULs removed.
func texts(_ bytes: [UInt8]) -> [String] {
    bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast().map { String(decoding: $0, as: UTF8.self) }
}
