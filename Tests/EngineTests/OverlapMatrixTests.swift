import Schedule
import Testing
import WatchFile

@testable import Engine

/// Every kind of source × every `Overlap=`: what became of every event.
@Suite("Overlap=, kinds of sources × policies")
struct OverlapMatrixTests {
    enum Kind: String, CaseIterable, Sendable {
        case timer, signal, path, descriptor, process, custom, group, completion
    }

    /// Three events of which two come while the first one's run still runs, and one after everything has ended.
    @Test(arguments: Kind.allCases, Overlap.allCases)
    func everyEventHasItsFate(kind: Kind, overlap: Overlap) {
        let matrix = Matrix(kind, overlap)
        for number in 1...3 { matrix.fire(number) }
        if overlap == .restart { matrix.endHandler(.signaled(15)) }
        while !matrix.isIdle { matrix.endHandler() }
        matrix.fire(4)
        matrix.endHandler()
        #expect(matrix.fates == matrix.expectedFates)
        let counters = matrix.fixture.counters(handler: "h")
        #expect(counters?.accepted == 4 && counters?.outstanding == 0)
        #expect(counters?[.skipped] == (overlap == .skip ? 2 : 0))
        #expect(counters?[.done] == (overlap == .skip ? 2 : 4))
        #expect(matrix.fixture.signals.count == (overlap == .restart ? 1 : 0))
    }

    /// The same, with the events arriving while the first one still waits: nothing overlaps, so they merge.
    @Test(arguments: Kind.allCases, Overlap.allCases)
    func whatComesBeforeTheStartMergesWhateverThePolicy(kind: Kind, overlap: Overlap) {
        let matrix = Matrix(kind, overlap)
        matrix.fixture.suspend("q")
        for number in 1...3 { matrix.fire(number) }
        matrix.fixture.resume("q")
        #expect(matrix.fixture.running.count == 1 && matrix.fixture.signals.isEmpty)
        matrix.endHandler()
        #expect(matrix.fates == ["\(matrix.merged([1, 2, 3])) done"])
    }

    @Test func twoEventsOfADescriptorAreTwoOperationsUnlessItIsToldElse() {
        let fixture = EngineFixture(
            .of(handlers: [.exec("h", overlap: .wait)], sources: [.fifo("f", to: "h")]))
        for text in ["1", "2"] { fixture.line("f", text) }
        #expect(fixture.running == ["h: line:1", "h: line:2"])
    }
}

/// One cell of the matrix, with a source that can be made to fire and a handler `h` on queue `q`.
private struct Matrix {
    let kind: OverlapMatrixTests.Kind
    let overlap: Overlap
    let fixture: EngineFixture

    init(_ kind: OverlapMatrixTests.Kind, _ overlap: Overlap) {
        self.kind = kind
        self.overlap = overlap
        fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 8), .concurrent("p", width: 8)],
                handlers: [
                    .exec("h", queue: "q", overlap: overlap) { $0.timeoutStop = .infinity },
                    .exec("cause") { if kind == .completion { $0.completions.finished = ["h"] } },
                ],
                sources: Self.sources(kind)))
    }

    private static func sources(_ kind: OverlapMatrixTests.Kind) -> [SourceDefinition] {
        let cause = SourceDefinition.fifo("cause", to: "cause", on: "p")
        switch kind {
        case .timer: return [.timer("t", to: "h", on: "q", every: .seconds(10))]
        case .signal: return [.signal("s", to: "h", on: "q")]
        case .path: return [.path("p", to: "h", on: "q")]
        case .descriptor: return [.fifo("f", to: "h", on: "q", key: .handler, coalesces: true)]
        case .process: return [.process("x", to: "h", on: "q")]
        case .custom: return [.custom("c", to: "h", on: "q")]
        case .group: return [cause, .group("g", of: "cause", to: "h", on: "q")]
        case .completion: return [cause]
        }
    }

    func fire(_ number: Int) {
        switch kind {
        case .timer: fixture.advance(seconds: 10)
        case .signal: fixture.signal("s", 10, from: Int32(number))
        case .path: fixture.path("p", .written, "/w/\(number)")
        case .descriptor: fixture.line("f", "\(number)")
        case .process: fixture.exit("x", pid: Int32(number))
        case .custom: fixture.emit("c", Int64(1) << number)
        case .group, .completion:
            fixture.line("cause", "\(number)")
            fixture.end("cause")
        }
    }

    /// Ends the oldest run of the handler.
    func endHandler(_ exit: Exit? = .exited(0)) { fixture.end("h", exit) }

    var isIdle: Bool { fixture.runs(of: "h").isEmpty }

    /// `events result` of every operation of the handler in the order of their ids, then `events skipped` of what never
    /// was in one; an operation that was superseded names its successor instead of its events.
    var fates: [String] {
        let ended = fixture.ended.filter { $0.handler == "h" }.sorted { $0.id < $1.id }
        let order = ended.map(\.id)
        let operations = ended.map { view in
            if let successor = view.successor, view.result == .superseded {
                return "superseded by operation \((order.firstIndex(of: successor) ?? -1) + 1)"
            }
            return "\(view.events.map(\.shown).joined(separator: " ")) \(view.result?.rawValue ?? "?")"
        }
        let refused = fixture.refused.filter { $0.handler == "h" }.map { "\($0.event.shown) \($0.result.rawValue)" }
        return operations + refused
    }

    var expectedFates: [String] {
        switch overlap {
        case .wait: ["\(merged([1])) done", "\(merged([2, 3])) done", "\(merged([4])) done"]
        case .skip: ["\(merged([1])) done", "\(merged([4])) done", "\(merged([2])) skipped", "\(merged([3])) skipped"]
        case .restart: ["superseded by operation 2", "\(merged([1, 2, 3])) done", "\(merged([4])) done"]
        case .parallel: (1...4).map { "\(merged([$0])) done" }
        }
    }

    /// How one operation tells these events: elapses and data fold into one entry.
    func merged(_ numbers: [Int]) -> String {
        let times = numbers.count > 1 ? "x\(numbers.count)" : ""
        switch kind {
        case .timer: return "timer\(times)"
        case .custom: return "data:\(numbers.reduce(0) { $0 + 1 << $1 })\(times)"
        case .signal: return numbers.map { "signal:10/\($0)" }.joined(separator: " ")
        case .path: return numbers.map { "written:\($0)" }.joined(separator: " ")
        case .descriptor: return numbers.map { "line:\($0)" }.joined(separator: " ")
        case .process: return numbers.map { "exit:\($0)" }.joined(separator: " ")
        case .group: return numbers.map { _ in "group:1/0/0" }.joined(separator: " ")
        case .completion: return numbers.map { "finished(\(cause($0)))" }.joined(separator: " ")
        }
    }

    /// The operation of the n-th cause.
    private func cause(_ number: Int) -> UInt64 {
        let causes = fixture.ended.filter { $0.handler == "cause" }.map(\.id)
        return causes.indices.contains(number - 1) ? causes[number - 1] : 0
    }
}
