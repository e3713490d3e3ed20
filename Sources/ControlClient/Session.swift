import ControlInterface
import JSON
import LinuxSystem
import TimeZoneFiles
import Varlink

/// The two sides of a verb: the daemon on one, the terminal on the other.
struct Session: Sendable {
    var socketPath: String
    /// It was not named: whoever listens there must be trusted for another reason.
    var isDefaultSocket = false
    var isJSON: Bool
    var screen: Screen
    var write: @Sendable (String) -> Void
    /// Remarks beside the reply: to standard error.
    var remark: @Sendable (String) -> Void = { _ in }
    /// For verbs that ask no daemon.
    var zones = TimeZoneDatabase()
    /// Bytes of a handler, as they are.
    var writeBytes: @Sendable ([UInt8]) -> Void = { _ in }
    /// How long a daemon may take for a reply that depends on nothing, in ms.
    var patience = 30_000
    /// How long any reply may take, in ms, where the command line says so.
    var limit: Int?
    /// The end of the error about a reply that does not come: what may become of it.
    var later = ""

    func connect() throws(Failure) -> Client {
        let client = try attempt("a connection") { () throws(ClientError) in try Client(connectingTo: socketPath) }
        if isDefaultSocket { try checkListener(client) }
        return client
    }

    /// - Parameter span: what the call itself may take besides `patience`, in ms; `nil`: as long as it needs.
    func timeout(taking span: Int?) -> Int? {
        if let limit { return limit == .max ? nil : limit }
        return span.map { $0.addingReportingOverflow(patience) }.map { $0.overflow ? Int.max : $0.partialValue }
    }

    /// Calls a method once. Of one that streams the first reply is what matters.
    /// - Parameter span: what the call itself may take besides `patience`, in ms; `nil`: as long as it needs.
    func call<Method: ControlMethod>(
        _ method: Method.Type, _ parameters: Method.Parameters, taking span: Int? = 0
    ) throws(Failure) -> Reply {
        guard Method.style == .stream else {
            return try call(method, parameters, taking: span) { Method.name == GetStatus.name ? nil : storeTrouble() }
        }
        let client = try connect()
        let timeout = timeout(taking: span)
        return try attempt(Method.name) { () throws(ClientError) in
            try client.start(Method.fullName, parameters, timeout: self.timeout(taking: 0))
            return try client.nextReply(timeout: timeout)
        }
    }

    /// In ms: more than a daemon needs that does not hang.
    private static let patienceForStatus = 5_000
    /// In ms: the same, where the time of the caller is over already.
    private static let patienceAfterwards = 500

    /// `nil`: the daemon does not say. Half of the time that the command line allows is left for the reply itself.
    func statusSoon(within longest: Int = .max) -> GetStatus.Reply? {
        let patience = min(Self.patienceForStatus, limit.map { max(1, $0 / 2) } ?? .max, longest)
        let reply = try? connect().call(GetStatus.fullName, timeout: patience)
        return try? reply?.parameters()
    }

    /// Why no reply comes, where that is the store; `nil`: it works, or nobody says how it stands.
    func storeTrouble() -> String? {
        guard let store = statusSoon()?.store, store.state == .failing else { return nil }
        return "watchd waits for its store: \(store.reason ?? "nobody knows why"); it goes on when that works"
    }

    /// The reply to a call that may wait for nothing.
    func reply<Method: ControlMethod>(
        _ method: Method.Type, _ parameters: Method.Parameters, taking span: Int? = 0
    ) throws(Failure) -> Method.Reply {
        try decoded(method, try call(method, parameters, taking: span))
    }

    func decoded<Method: ControlMethod>(_ method: Method.Type, _ reply: Reply) throws(Failure) -> Method.Reply {
        try attempt(Method.name) { () throws(ClientError) in try reply.parameters(as: Method.Reply.self) }
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
    func show<Method: ControlMethod>(
        _ method: Method.Type, _ parameters: Method.Parameters, whenSlow reason: () -> String?,
        _ render: (Method.Reply) -> [Styled]
    ) throws(Failure) {
        try show(method, try call(method, parameters, taking: nil, whenSlow: reason), render)
    }

    /// Calls a method that may have to wait for long.
    /// - Parameter reason: asked after a second without a reply: why there is none; `nil`: nobody knows.
    func call<Method: ControlMethod>(
        _ method: Method.Type, _ parameters: Method.Parameters, taking span: Int?, whenSlow reason: () -> String?
    ) throws(Failure) -> Reply {
        let client = try connect()
        let (timeout, begun) = (timeout(taking: span), Linux.now(.monotonic))
        return try attempt(Method.name) { () throws(ClientError) in
            try client.begin(Method.fullName, parameters, timeout: timeout)
            return try nextReply(of: client, within: timeout, since: begun, whenSlow: reason)
        }
    }

    /// - Parameter begun: the monotonic microsecond from which `timeout` counts.
    func nextReply(
        of client: Client, within timeout: Int?, since begun: Int64 = Linux.now(.monotonic),
        whenSlow reason: () -> String?
    ) throws(ClientError) -> Reply {
        do throws(ClientError) {
            return try client.nextReply(timeout: min(Self.slowness, timeout ?? .max))
        } catch {
            guard case .timedOut = error, timeout ?? .max > Self.slowness else { throw error }
            if let reason = reason() {
                remark(Styled("watchctl: " + reason).rendered(coloured: false) + "\n")
            }
            return try Self.rest(of: timeout, since: begun, client)
        }
    }

    /// A reply that has not come within the first second.
    private static func rest(of timeout: Int?, since begun: Int64, _ client: Client) throws(ClientError) -> Reply {
        let waited = Int(clamping: (Linux.now(.monotonic) - begun) / 1000)
        do throws(ClientError) {
            return try client.nextReply(timeout: timeout.map { max(1, $0 - waited) })
        } catch {
            guard case .timedOut = error, let timeout else { throw error }
            throw .timedOut(milliseconds: timeout)
        }
    }

    @discardableResult
    private func show<Method: ControlMethod>(
        _ method: Method.Type, _ reply: Reply, _ render: (Method.Reply) -> [Styled]
    ) throws(Failure) -> Method.Reply {
        let decoded = try decoded(method, reply)
        if isJSON { try print(reply) } else { print(render(decoded)) }
        return decoded
    }

    /// Fetches all pages of a list and prints them as one reply.
    /// - Parameters:
    ///   - parameters: those for the page after the one whose `next` it is given; `nil` for the first. Also how many
    ///     items are wanted still.
    ///   - limit: fetches no page after so many items; then the reply has a `next`.
    ///   - isWanted: items that are not are left out.
    ///   - more: further members of the reply as it is printed.
    func showList<Method: ControlMethod>(
        _ method: Method.Type, atMost limit: Int = .max, _ parameters: (JSONValue?, Int) -> Method.Parameters,
        keeping isWanted: (JSONValue) -> Bool = { _ in true }, adding more: [String: JSONValue] = [:],
        _ render: (Method.Reply) -> [Styled]
    ) throws(Failure) {
        let client = try connect()
        var all = more
        var (next, left): (JSONValue?, Int) = (nil, limit)
        repeat {
            let page = try attempt(Method.name) { () throws(ClientError) in
                try client.call(Method.fullName, parameters(next, left), timeout: timeout(taking: 0))
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
                throw Failure(.unexpectedReply("a list of another form"), socketPath: socketPath, Method.name, screen)
            }
            print(render(reply))
        }
    }

    /// - Parameter awaited: what the daemon has to give, for people.
    func attempt<Value>(_ awaited: String, _ body: () throws(ClientError) -> Value) throws(Failure) -> Value {
        do throws(ClientError) {
            return try body()
        } catch {
            if case .timedOut(let milliseconds) = error,
                statusSoon(within: min(milliseconds, Self.patienceAfterwards)) != nil
            {
                throw Failure(unfinished: awaited, after: milliseconds, later: later)
            }
            throw Failure(error, socketPath: socketPath, awaited, screen, later: later)
        }
    }

    func print(_ lines: [Styled]) { write(screen.rendered(lines)) }

    /// The parameters of a reply, whatever they are, on one line.
    func print(_ reply: Reply) throws(Failure) {
        let parameters = try attempt("a reply") { () throws(ClientError) in
            try reply.parameters(as: JSONValue.self)
        }
        if let text = try? JSON.encode(parameters) { print(json: text) }
    }

    func print(json text: [UInt8]) { write(Self.line(json: text)) }

    /// JSON escapes the control characters of ASCII; terminals act on some more, which stand in strings only.
    static func line(json text: [UInt8]) -> String {
        var line = String.UnicodeScalarView()
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            guard scalar.isUnprintable else {
                line.append(scalar)
                continue
            }
            for unit in UTF16.encode(scalar) ?? .init() {
                line += "\\u\(String(0x10000 + UInt32(unit), radix: 16).dropFirst())".unicodeScalars
            }
        }
        return String(line) + "\n"
    }
}
