import ControlInterface
import Glibc
import JSON
import LinuxSystem
import ProgramKit
import SeedKit
import Synchronization
import Varlink

/// Events from several sides at once, each with a token of its own, until it is told to stop.
final class ChaosLoad: Sendable {
    /// What became of the tokens that were sent.
    struct Sent {
        /// By source: the emit was answered, or the line is in the pipe, in that order.
        var accepted: [String: [Int]] = [:]
        /// Refused by name: they must never run.
        var refused: Set<Int> = []
        /// The daemon went before it answered: they may have been accepted or not.
        var unanswered: Set<Int> = []
        var files = 0
        var lastToken = 0

        var count: Int { accepted.values.reduce(0) { $0 + $1.count } }
    }

    private let folder: Folder
    private let state = Mutex(Sent())
    private let isStopping = Mutex(false)

    init(_ folder: Folder) { self.folder = folder }

    var sent: Sent { state.withLock { $0 } }
    private var goesOn: Bool { !isStopping.withLock { $0 } }

    /// Starts its threads, one for each source; `stop` ends them.
    func start(emitting sources: [String], writing pipes: [String], seed: UInt64) -> [Background] {
        let emitters = sources.enumerated().map { number, source in
            Background { [self] in emit(source, seed: seed &* 31 &+ UInt64(number)) }
        }
        let writers = pipes.map { pipe in Background { [self] in write(pipe, seed: seed) } }
        return emitters + writers + [Background { [self] in makeFiles() }]
    }

    func stop(_ threads: [Background]) {
        isStopping.withLock { $0 = true }
        for thread in threads { thread.join() }
    }

    /// A pause, not a wait: it only sets the pace.
    private func rest(milliseconds: Int) { _ = poll(nil, 0, Int32(milliseconds)) }

    private func take(_ count: Int) -> [Int] {
        state.withLock { state in
            state.lastToken += count
            return Array(state.lastToken - count + 1...state.lastToken)
        }
    }

    // MARK: A client

    private func emit(_ source: String, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var client: Client?
        while goesOn {
            rest(milliseconds: random.upTo(10))
            client = client ?? (try? Client(connectingTo: folder["socket"]))
            guard let open = client else { continue }
            let tokens = take(random.chance(5) ? 20 : 1)
            if !emit(open, source, tokens) { client = nil }
        }
    }

    /// False: the connection is of no use any more.
    private func emit(_ client: Client, _ source: String, _ tokens: [Int]) -> Bool {
        let events = tokens.map { Emit.Parameters(name: source, payload: .object(["token": .int(Int64($0))])) }
        do {
            let reply: EmitAll.Reply = try client.call(
                EmitAll.fullName, EmitAll.Parameters(events: events), timeout: 120_000
            ).parameters()
            state.withLock { state in
                if reply.events.count == tokens.count {
                    state.accepted[source, default: []] += tokens
                } else {
                    state.unanswered.formUnion(tokens)
                }
            }
            return true
        } catch ClientError.remote {
            state.withLock { $0.refused.formUnion(tokens) }
            return true
        } catch {
            state.withLock { $0.unanswered.formUnion(tokens) }
            return false
        }
    }

    // MARK: A writer, who keeps the pipe open

    private func write(_ pipe: String, seed: UInt64) {
        var random = SeededGenerator(seed: seed &+ 7)
        guard let number = openPipe(pipe) else { return }
        defer { FileDescriptor(owning: number).close() }
        while goesOn {
            rest(milliseconds: random.upTo(8))
            let token = take(1)
            // EPIPE: nobody reads now. EAGAIN: it is full. Both will pass.
            while !isWritten("\(token[0])\n", to: number) {
                guard goesOn else { return }
                rest(milliseconds: 2)
            }
            state.withLock { $0.accepted[pipe, default: []] += token }
        }
        // What is in the pipe is lost with its last end: it stays open until all of it was read.
        let deadline = Linux.now(.monotonic) + 60_000_000
        while !isDrained(number), Linux.now(.monotonic) < deadline { rest(milliseconds: 5) }
    }

    private func openPipe(_ pipe: String) -> Int32? {
        while goesOn {
            if let opened = try? Linux.open(folder[pipe], [.writing, .nonBlocking]) { return opened.release() }
            rest(milliseconds: 2)
        }
        return nil
    }

    private func isWritten(_ line: String, to pipe: Int32) -> Bool {
        (try? Array(line.utf8).withUnsafeBytes { try Linux.write(pipe, $0) }) != nil
    }

    private func isDrained(_ pipe: Int32) -> Bool {
        var count: Int32 = 0
        return ioctl(pipe, UInt(FIONREAD), &count) == 0 && count == 0
    }

    // MARK: Files

    private func makeFiles() {
        while goesOn {
            rest(milliseconds: 15)
            let token = take(1)[0]
            guard (try? folder.write("in/\(token)", "\(token)")) != nil else { continue }
            state.withLock { $0.files += 1 }
        }
    }
}
