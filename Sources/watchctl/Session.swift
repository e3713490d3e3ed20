import ControlInterface
import LinuxSystem
import TimeZoneFiles
import Varlink

/// What a verb works with: the daemon on one side, the terminal on the other.
struct Session: Sendable {
    var socketPath: String
    var isJSON: Bool
    var screen: Screen
    var write: @Sendable (String) -> Void
    /// What is worth knowing and no part of the reply: to standard error.
    var remark: @Sendable (String) -> Void = { _ in }
    /// For verbs that ask no daemon.
    var zones = TimeZoneDatabase()
    /// How long a daemon may take for a reply that depends on nothing, in ms.
    var patience = 30_000

    func connect() throws(Failure) -> Client {
        do throws(ClientError) {
            return try Client(connectingTo: socketPath)
        } catch {
            throw Failure(error, socketPath: socketPath)
        }
    }

    /// Calls a method once. Of one that streams the first reply is what matters.
    /// - Parameter span: what the call itself may take besides `patience`, in ms; `nil`: as long as it needs.
    func call<Method: ControlMethod>(
        _ method: Method.Type, _ parameters: Method.Parameters, taking span: Int? = 0
    ) throws(Failure) -> Reply {
        let client = try connect()
        let timeout = span.map { $0.addingReportingOverflow(patience) }.map { $0.overflow ? Int.max : $0.partialValue }
        return try attempt { () throws(ClientError) in
            guard Method.style == .stream else {
                return try client.call(Method.fullName, parameters, timeout: timeout)
            }
            try client.start(Method.fullName, parameters, timeout: patience)
            return try client.nextReply(timeout: timeout)
        }
    }

    /// Calls a method and prints its reply: as JSON, or as `render` has it.
    /// - Returns: the reply, for an exit code that depends on it.
    @discardableResult
    func show<Method: ControlMethod>(
        _ method: Method.Type, _ parameters: Method.Parameters, taking span: Int? = 0,
        _ render: (Method.Reply) -> [Styled]
    ) throws(Failure) -> Method.Reply {
        try show(method, try call(method, parameters, taking: span), render)
    }

    /// In ms: who waits longer than this is told why.
    private static let slowness = 1_000

    /// Calls a method that may have to wait for long, and prints its reply.
    /// - Parameter reason: asked after a second without a reply: why there is none.
    func show<Method: ControlMethod>(
        _ method: Method.Type, _ parameters: Method.Parameters, whenSlow reason: () -> String,
        _ render: (Method.Reply) -> [Styled]
    ) throws(Failure) {
        let client = try connect()
        try attempt { () throws(ClientError) in try client.begin(Method.fullName, parameters) }
        let reply: Reply
        do throws(ClientError) {
            reply = try client.nextReply(timeout: Self.slowness)
        } catch {
            guard case .timedOut = error else { throw Failure(error, socketPath: socketPath) }
            remark(Styled("watchctl: " + reason()).rendered(coloured: false) + "\n")
            reply = try attempt { () throws(ClientError) in try client.nextReply() }
        }
        try show(method, reply, render)
    }

    @discardableResult
    private func show<Method: ControlMethod>(
        _ method: Method.Type, _ reply: Reply, _ render: (Method.Reply) -> [Styled]
    ) throws(Failure) -> Method.Reply {
        let decoded = try attempt { () throws(ClientError) in try reply.parameters(as: Method.Reply.self) }
        if isJSON { try print(reply) } else { print(render(decoded)) }
        return decoded
    }

    /// Fetches all pages of a list and prints them as one reply.
    /// - Parameters:
    ///   - parameters: those for the page after the one whose `next` it is given; `nil` for the first. Also how many
    ///     items are wanted still.
    ///   - limit: fetches no page after so many items; then the reply has a `next`.
    ///   - isWanted: items that are not are left out.
    func showList<Method: ControlMethod>(
        _ method: Method.Type, atMost limit: Int = .max, _ parameters: (JSONValue?, Int) -> Method.Parameters,
        keeping isWanted: (JSONValue) -> Bool = { _ in true }, _ render: (Method.Reply) -> [Styled]
    ) throws(Failure) {
        let client = try connect()
        var all: [String: JSONValue] = [:]
        var (next, left): (JSONValue?, Int) = (nil, limit)
        repeat {
            let page = try attempt { () throws(ClientError) in
                try client.call(Method.fullName, parameters(next, left), timeout: patience)
                    .parameters(as: [String: JSONValue].self)
            }
            next = page["next"].flatMap { $0 == .null ? nil : $0 }
            for (name, value) in page where name != "next" {
                guard case .array(let page) = value else {
                    all[name] = value
                    continue
                }
                left -= page.count
                let items = page.filter(isWanted)
                if case .array(let before) = all[name] {
                    all[name] = .array(before + items)
                } else {
                    all[name] = .array(items)
                }
            }
        } while next != nil && left > 0
        all["next"] = next
        try printList(method, all, render)
    }

    private func printList<Method: ControlMethod>(
        _ method: Method.Type, _ all: [String: JSONValue], _ render: (Method.Reply) -> [Styled]
    ) throws(Failure) {
        guard let text = try? JSON.encode(all) else { return }
        if isJSON {
            print(json: text)
        } else {
            guard let reply = try? JSON.decode(Method.Reply.self, from: text) else {
                throw Failure(.unexpectedReply("a list of another form"), socketPath: socketPath)
            }
            print(render(reply))
        }
    }

    func attempt<Value>(_ body: () throws(ClientError) -> Value) throws(Failure) -> Value {
        do throws(ClientError) {
            return try body()
        } catch {
            throw Failure(error, socketPath: socketPath)
        }
    }

    func print(_ lines: [Styled]) { write(screen.rendered(lines)) }

    /// The parameters of a reply, whatever they are, on one line.
    func print(_ reply: Reply) throws(Failure) {
        let parameters = try attempt { () throws(ClientError) in try reply.parameters(as: JSONValue.self) }
        if let text = try? JSON.encode(parameters) { print(json: text) }
    }

    /// JSON escapes the control characters of ASCII; terminals know some more, which stand in strings only.
    func print(json text: [UInt8]) {
        var line = String.UnicodeScalarView()
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            if (0x7F...0x9F).contains(scalar.value) {
                line += "\\u00\(String(scalar.value, radix: 16))".unicodeScalars
            } else {
                line.append(scalar)
            }
        }
        write(String(line) + "\n")
    }
}
