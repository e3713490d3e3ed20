import ControlInterface
import Glibc
import JSON
import LinuxSystem
import ProgramKit
import SeedKit
import Synchronization
import Testing
import Varlink

/// Reloads in the middle of a stream: of 5 000 events a second in the long part, of which `Tests/Chaos/run` makes more.
@Suite("Reloads in a stream, end to end", .ownThreadChain, .serialized) struct ReloadStreamTests {
    private static let asked = getenv("WATCHD_CHAOS").flatMap { Int(String(cString: $0)) }
    private static let rate = asked == nil ? LongPart.count(1_000, long: 5_000) : 5_000
    private static let batch = 50
    private static let reloads = asked ?? LongPart.count(10, long: 20)

    private static func text(durable: Bool) -> String {
        """
        [Queue kept]
        Durable=\(durable ? "yes" : "no")
        Backlog=100000
        [Queue lines]
        Durable=\(durable ? "yes" : "no")
        Backlog=100000
        [Custom poke]
        Exec=@/bin/cat
        StandardOutput=append:@/ledger
        Queue=kept
        [Descriptor pipe]
        ListenFIFO=@/pipe
        Key=one
        Coalesce=yes
        Exec=@/bin/cat
        StandardInput=lines
        StandardOutput=append:@/copy
        Queue=lines

        """
    }

    /// Half of the rate each by a client and by a writer of the pipe, numbered from 1, until it is stopped.
    private final class Stream: Sendable {
        private struct Sent {
            var isStopping = false
            var emitted = 0
            var written = 0
            var problem: String?
        }

        private let folder: Folder
        private let sent = Mutex(Sent())

        init(_ folder: Folder) { self.folder = folder }

        var emitted: Int { sent.withLock { $0.emitted } }
        var written: Int { sent.withLock { $0.written } }
        var problem: String? { sent.withLock { $0.problem } }
        private var goesOn: Bool { sent.withLock { !$0.isStopping } }

        func start() -> [Background] {
            [Background { [self] in keep { try emit() } }, Background { [self] in keep { try write() } }]
        }

        func stop(_ threads: [Background]) {
            sent.withLock { $0.isStopping = true }
            for thread in threads { thread.join() }
        }

        private func keep(_ body: () throws -> Void) {
            do { try body() } catch { sent.withLock { $0.problem = "\(error)" } }
        }

        /// One batch after the other, none before its time.
        private func batches(_ send: (ClosedRange<Int>) throws -> Void) throws {
            let begin = Linux.now(.monotonic)
            var count = 0
            while goesOn {
                let due = begin + Int64(count) * 2_000_000 / Int64(rate)
                let early = due - Linux.now(.monotonic)
                if early > 1000 { _ = poll(nil, 0, Int32(early / 1000)) }
                try send(count + 1...count + batch)
                count += batch
            }
        }

        private func emit() throws {
            let client = try Client(connectingTo: folder["socket"])
            try batches { numbers in
                let events = numbers.map {
                    Emit.Parameters(name: "poke", payload: .object(["token": .int(Int64($0))]))
                }
                let parameters = EmitAll.Parameters(events: events)
                _ = try client.call(EmitAll.fullName, parameters, timeout: 60_000)
                sent.withLock { $0.emitted = numbers.upperBound }
            }
        }

        private func write() throws {
            let pipe = try Linux.open(folder["pipe"], .writing).release()
            defer { FileDescriptor(owning: pipe).close() }
            try batches { numbers in
                try Linux.writeAll(pipe, numbers.map { "\($0)\n" }.joined().utf8)
                sent.withLock { $0.written = numbers.upperBound }
            }
        }
    }

    @Test(arguments: [false, true]) func noneLosesOrDoublesAnything(durable: Bool) throws {
        Linux.ignoreSignal(SIGPIPE)
        let text = Self.text(durable: durable)
        try Lives.run(text, settings: "LogLevel=notice\nKeepHistory=100") { lives in
            let stream = Stream(lives.folder)
            let begin = Linux.now(.monotonic)
            let threads = stream.start()
            for round in 1...Self.reloads {
                // The handler is another one, too, and a section comes or goes.
                let more = round % 2 == 0 ? "" : "[Custom more\(round)]\nLog=more\n"
                let changed = text.replacing("Queue=kept\n", with: "Queue=kept\nEnvironment=ROUND=\(round)\n")
                try lives.write(changed + more)
                let reply = try lives.watchd.call(Reload.self, .init())
                #expect(reply.changed == ["handler/poke"])
                let wanted = stream.emitted + Self.batch
                try wait(for: "more events") { stream.problem != nil || stream.emitted >= wanted }
            }
            stream.stop(threads)
            let seconds = Double(Linux.now(.monotonic) - begin) / 1_000_000
            #expect(stream.problem == nil)
            try expectEachOnce(lives, stream)
            let rate = Int(Double(stream.emitted + stream.written) / seconds)
            // Only the long form, whose programs are built to be fast (`Tests/Chaos/run`).
            #expect(Self.reloads < 200 || rate >= Self.rate * 95 / 100, "\(rate) events a second")
            print("\(durable ? "durable" : "plain"): \(Self.reloads) reloads at \(rate) events a second")
        }
    }

    private func expectEachOnce(_ lives: Lives, _ stream: Stream) throws {
        try wait(for: "all lines", seconds: 60) { lives.folder.lines("copy").count >= stream.written }
        try wait(for: "all to end", seconds: 60) { try lives.watchd.status().totals.outstanding == 0 }
        let lines = lives.folder.lines("copy").map { Int($0) }
        #expect(lines == (1...stream.written).map { $0 }, "\(lines.count) lines of \(stream.written)")
        let told = try lives.folder.lines("ledger").map { try Told($0) }
        #expect(told.allSatisfy { !$0.isRedelivered && $0.attempt == 1 })
        let tokens = told.flatMap(\.tokens)
        #expect(tokens == Array(1...stream.emitted), "\(tokens.count) events of \(stream.emitted)")
        let totals = try lives.watchd.status().totals
        #expect(totals.accepted == stream.emitted + stream.written)
        #expect(totals.done == totals.accepted)
    }
}
