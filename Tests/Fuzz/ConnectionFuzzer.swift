import ControlInterface
import JSON
import Varlink

/// The entry point of libFuzzer: whatever the bytes of a client, and however they are cut, the connection ends, every
/// message is read as Foundation reads it, and each call whose parameters could be decoded gets them back.
///
/// The first byte says how long the pieces are in which the rest comes.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzConnection(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let first = bytes.first else { return 0 }
    for message in bytes.dropFirst().split(separator: 0) { checkText(Array(message)) }
    var talk = Talk()
    var rest = bytes.dropFirst()
    while !rest.isEmpty {
        talk.receive(Array(rest.prefix(Int(first) + 1)))
        rest = rest.dropFirst(Int(first) + 1)
    }
    talk.end()
    return 0
}

/// What is accepted is what Foundation reads, and the same again when it is written and read once more.
private func checkText(_ message: [UInt8]) {
    guard let text = try? JSONText(message, limits: Call.limits), text.fault == nil else { return }
    // Deeper ones take Foundation many seconds.
    if text.value.nesting <= 12 { precondition(ForeignJSON.agrees(message, text.value)) }
    precondition((try? JSONText(JSON.encode(text.value)).value) == text.value)
}

extension JSONValue {
    fileprivate var nesting: Int {
        switch self {
        case .array(let elements): 1 + (elements.lazy.map(\.nesting).max() ?? 0)
        case .object(let members): 1 + (members.values.lazy.map(\.nesting).max() ?? 0)
        case .null, .bool, .int, .double, .string: 0
        }
    }
}

private let service = Service(
    .init(vendor: "v", product: "p", version: "1", url: "u"), interfaces: [Manager.interface, .systemdService])

private let methods = Dictionary(uniqueKeysWithValues: Manager.methods.map { ($0.fullName, $0) })

/// A connection whose client reads all its replies.
private struct Talk {
    private var connection = ServerConnection(slowSubscriberError: ErrorReply("org.example.TooSlow"))
    private var lastCall = 0

    mutating func receive(_ bytes: [UInt8]) {
        connection.receive(bytes)
        answerAll()
    }

    mutating func end() {
        connection.receiveEnd()
        answerAll()
        precondition(connection.isFinished)
    }

    private mutating func answerAll() {
        while let call = connection.next() {
            precondition(call.number > lastCall)
            lastCall = call.number
            answer(call)
            read()
        }
        read()
    }

    private mutating func answer(_ call: Call) {
        do throws(ErrorReply) {
            switch service.route(call) {
            case .reply(let value): connection.reply(to: call.number, with: value)
            case .error(let error): throw error
            case .method(_, "SetLogLevel"):
                connection.reply(to: call.number, with: try call.parameters(as: LogLevel.self))
            case .method:
                if let method = methods[call.method] { return try echo(method, call) }
                connection.reply(to: call.number)
            }
        } catch {
            connection.fail(call.number, with: error)
        }
    }

    private mutating func echo<Method: ControlMethod>(_ method: Method.Type, _ call: Call) throws(ErrorReply) {
        let parameters: Method.Parameters = try call.parameters()
        let again = try? JSON.decode(Method.Parameters.self, from: JSON.encode(parameters))
        precondition(again == parameters)
        if call.wantsMore { _ = connection.continueReply(to: call.number, with: parameters) }
        connection.reply(to: call.number, with: parameters)
    }

    /// Whole messages, each an object with the members of a reply and no others.
    private mutating func read() {
        let output = Array(connection.pendingOutput)
        precondition(output.last ?? 0 == 0)
        for message in output.split(separator: 0) {
            let members = (try? JSONText(Array(message)))?.value.members
            precondition(members?["parameters"]?.members != nil)
            precondition(members?.keys.allSatisfy { ["parameters", "continues", "error"].contains($0) } == true)
        }
        connection.consumeOutput(output.count)
    }
}
