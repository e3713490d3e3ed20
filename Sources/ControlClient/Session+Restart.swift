import ControlInterface
import JSON
import LinuxSystem
import Schedule
import Varlink

/// A daemon that is started anew while a verb waits for it.
extension Session {
    /// How long a daemon may be away, in ms.
    static let absence = 30_000
    /// Between two looks for it, in ms.
    private static let pause: Int32 = 200
    /// One that answers takes no longer, in ms.
    private static let patienceForReturn = 5_000

    /// The daemon has gone, or is about to.
    static func isGone(_ error: ClientError) -> Bool {
        switch error {
        case .disconnected, .cannotConnect(_, .noSuchFile), .cannotConnect(_, .connectionRefused): true
        case .remote(let reply): if case .draining = ManagerError(reply) { true } else { false }
        case .cannotConnect, .timedOut, .unexpectedReply, .system: false
        }
    }

    /// `nil`: the daemon has gone, or is about to.
    func replyUnlessGone<Method: ControlMethod>(
        _ method: Method.Type, _ parameters: Method.Parameters
    ) throws(Failure) -> Method.Reply? {
        do throws(ClientError) {
            let client = try Client(connectingTo: socketPath)
            let timeout = timeout(taking: 0)
            try client.begin(Method.fullName, parameters, timeout: timeout)
            return try nextReply(of: client, within: timeout) { storeTrouble() }.parameters()
        } catch {
            if Self.isGone(error) { return nil }
            throw Failure(error, socketPath: socketPath, Method.name, screen)
        }
    }

    /// Waits until a daemon answers that is not about to end, at most `absence` after one has answered last.
    ///
    /// - Parameters:
    ///   - what: goes on then, for a person.
    ///   - help: the remedy where it does not come back.
    /// - Returns: when the new one was started, as it says.
    /// - Throws: it has not come back.
    func waitForReturn(of what: String, help: String) throws(Failure) -> String {
        remark("watchctl: watchd has ended the connection; waiting for it to come back, to go on with \(what)\n")
        var gone = Linux.now(.monotonic)
        let most = Int64(min(Self.absence, limit ?? .max)) * 1000
        while Linux.now(.monotonic) - gone < most {
            if let status = statusOfReturned() {
                if status.state != .draining {
                    let began = screen.clock(status.started)
                    remark("watchctl: watchd is back, up since \(began); going on with \(what)\n")
                    return status.started
                }
                gone = Linux.now(.monotonic)
            }
            _ = try? Linux.poll(1, [], timeout: Self.pause)
        }
        let span = most / 1_000_000
        throw Failure(
            message: "watchd has ended, and has not come back for \(span)s", help: help, exitCode: .unreachable)
    }

    private func statusOfReturned() -> GetStatus.Reply? {
        let patience = min(Self.patienceForReturn, limit ?? .max)
        let reply = try? connect().call(GetStatus.fullName, timeout: patience)
        return try? reply?.parameters()
    }

    /// Waits for the end of an operation, also over a restart of the daemon.
    ///
    /// - Parameter follows: of one that was superseded, for the end of that which has its events.
    func end(of id: Int, follows: Bool = true) throws(Failure) -> OperationSummary {
        var id = id
        var hasReturned = false
        while true {
            let outcome = try wait(for: id, hasReturned: hasReturned)
            guard let operation = outcome else {
                _ = try waitForReturn(
                    of: "operation \(id)",
                    help: "when it runs again, watchctl show \(id) tells what became of operation \(id)")
                hasReturned = true
                continue
            }
            // Its events went on in another one.
            guard follows, operation.result == .superseded, let next = operation.successor else { return operation }
            id = next
        }
    }

    /// Waits for the ends of these operations, one after the other, also over a restart of the daemon.
    func ends(of ids: [Int]) throws(Failure) -> [OperationSummary] {
        var ends: [OperationSummary] = []
        for id in ids { ends.append(try end(of: id)) }
        return ends
    }

    /// Part of a handler's run: a wait that could only end after that run is refused before anything is started.
    static var isInsideRun: Bool {
        if Linux.environment("WATCHD_OPERATION") != nil { return true }
        let group = (try? Linux.readFile("/proc/self/cgroup", limit: 4096)) ?? []
        return String(decoding: group, as: UTF8.self).contains("/run-")
    }

    /// Why an operation does not start; `nil`: it runs, or nobody says.
    private func obstacle(before id: Int) -> String? {
        guard let operation = try? reply(GetOperation.self, .init(id: id)).operation.summary,
            let reason = operation.waitingFor
        else { return nil }
        return "operation \(id) waits for \(reason); watchctl explain \(id)"
    }

    /// `nil`: the daemon has gone.
    private func wait(for id: Int, hasReturned: Bool) throws(Failure) -> OperationSummary? {
        do throws(ClientError) {
            let client = try Client(connectingTo: socketPath)
            // The daemon says how the operation stands when the time is over.
            let span = limit.flatMap { $0 == .max ? nil : $0 }
            let parameters = Wait.Parameters(id: id, timeoutUsec: span.map { Int(clamping: Int64($0) &* 1000) })
            try client.start(Wait.fullName, parameters, timeout: timeout(taking: 0))
            let most = span.map { $0.addingReportingOverflow(patience).partialValue }
            let reply = try nextReply(of: client, within: most) { hasReturned ? nil : obstacle(before: id) }
                .parameters(as: Wait.Reply.self)
            guard let operation = reply.operation else { throw ClientError.unexpectedReply("no operation") }
            return operation
        } catch {
            if Self.isGone(error) { return nil }
            if case .remote(let reply) = error, hasReturned, case .noSuchOperation = ManagerError(reply) {
                throw Failure(
                    message: "operation \(id) is not there after the restart of watchd: it was lost, or is forgotten",
                    help: "watchctl status and watchctl history say what became of others", exitCode: .failed)
            }
            throw Failure(error, socketPath: socketPath, Wait.name, screen)
        }
    }
}

extension OperationSummary {
    /// Of what a signal has ended, that signal first.
    var endReason: String? {
        let words = [signal, reason].compactMap(\.self)
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }
}

extension [OperationSummary] {
    /// The first of those that ended worst.
    var worst: OperationSummary? {
        reduce(nil) { worst, end in
            (worst?.result?.severity ?? -1) < (end.result?.severity ?? -1) ? end : worst
        }
    }
}

extension OperationSummary.Result {
    /// How bad it is for one who waits for several, as the daemon has it.
    fileprivate var severity: Int {
        switch self {
        case .done: 0
        case .annulled: 1
        case .skipped: 2
        case .dropped: 3
        case .cancelled: 4
        case .failed, .stopped: 5
        case .superseded: 6
        }
    }
}
