import SeedKit
import Testing
import WatchFile

@Suite("Bounds of a watch file")
struct LimitTests {
    @Test func aFileOfMoreThanAMebibyteIsRefusedUnread() {
        var text = Array("[Custom a]\nLog=x\n#".utf8)
        text += Array(repeating: UInt8(ascii: "x"), count: WatchFile.maximumBytes - text.count)
        #expect(load(bytes: text).diagnostics.isEmpty)
        #expect(load(bytes: text + [0]).diagnostics.map { $0.rendered() } == ["test.watch: error: larger than 1 MiB"])
    }

    @Test func tooManySectionsAreToldOnce() {
        let sections = (0..<WatchFile.maximumSections).map { "[Queue q\($0)]\n" }.joined()
        let queues = load(sections).configuration?.queues ?? []
        #expect(queues.count { $0.name.hasPrefix("q") } == WatchFile.maximumSections)
        #expect(
            problems(in: sections + "[Handler more]\nLog=x\n[Handler again]\nLog=%q") == [
                "10001:1: more than 10000 sections"
            ])
    }

    @Test func aLongLineIsShownAroundTheCaret() throws {
        let text =
            "[Handler a]\nLog=" + String(repeating: "x", count: 900_000) + "%q" + String(repeating: "y", count: 9000)
        let diagnostic = try #require(load(text).diagnostics.first)
        #expect(diagnostic.location == .init(file: "test.watch", line: 2, column: 900_005))
        let lines = diagnostic.rendered().split(separator: "\n")
        #expect(lines.allSatisfy { $0.count < 200 })
        #expect(lines[1].count > 150)
    }

    @Test func aFloodOfErrorsIsCounted() {
        let result = load(String(repeating: "[Handler a]\noops\n", count: 5000))
        #expect(result.diagnostics.count == WatchFile.maximumDiagnostics + 1)
        #expect(result.diagnostics.last?.message == "9000 more are not shown")
        #expect(result.configuration == nil)
    }

    @Test func aFloodOfWarningsRefusesNothing() {
        // A barrier on a serial queue is a warning each.
        let sources = (0...WatchFile.maximumDiagnostics).map { "[Custom c\($0)]\nLog=x\nBarrier=yes\nQueue=q\n" }
        let handlers = "[Queue q]\n" + sources.joined()
        let result = load(handlers)
        #expect(result.configuration != nil)
        #expect(result.diagnostics.last?.message == "1 more are not shown")
        #expect(result.diagnostics.allSatisfy { $0.severity == .warning })
        let broken = load(handlers + "[Handler broken]\nLog=x\nAfter=nobody\n")
        #expect(broken.diagnostics.contains { $0.severity == .error }, "a flood of warnings hides no error")
    }

    @Test func aLineOfErrorsKeepsOneCopyOfItself() {
        let line = "Exec=/bin/x " + String(repeating: "%q ", count: LongPart.count(60_000, long: 300_000))
        #expect(load("[Handler a]\n" + line).diagnostics.count == WatchFile.maximumDiagnostics + 1)
    }

    @Test func aListOfNamesIsBoundedWithItsDefaults() {
        let names = (0..<WatchFile.maximumNames).map { "h\($0)" }
        let handlers = names.map { "[Handler \($0)]\nLog=x\n" }.joined()
        let text = handlers + "[Timer t]\nEverySec=1h\nHandler=\(names.joined(separator: " "))\n"
        #expect(load(text).configuration?.sources.first?.routes.count == WatchFile.maximumNames)
        #expect(problems(in: text + "[Timer]\nHandler=h0\n") == ["515:9: Handler= has more than 256 names"])
        #expect(problems(in: text + "[Timer]\nHandler=nobody\n").last == "517:9: there is no handler nobody")
    }

    @Test func aDeepChainOfHandlersIsFollowed() {
        let count = 9000
        func chain(_ count: Int) -> String {
            (0..<count).map { "[Handler h\($0)]\nLog=x\nOnSuccess=h\($0 + 1)\n" }.joined()
        }
        let open = LongPart.count(900, long: count)
        #expect(load(chain(open) + "[Handler h\(open)]\nLog=x\n").configuration?.handlers.count == open + 1)
        let closed = load(chain(count) + "[Handler h\(count)]\nLog=x\nOnFailure=h0\n")
        #expect(closed.diagnostics.count == 1)
        #expect(closed.diagnostics.first?.message.contains("h0 → h1 → ") == true)
        #expect(closed.diagnostics.first?.message.hasSuffix("h9000 → h0") == true)
    }

    @Test func aDeepChainOfDependenciesTargetsAndGroupsIsFollowed() {
        let count = 3000
        let texts = (0..<count).map {
            "[Queue q\($0)]\nTarget=q\($0 + 1)\n[Handler h\($0)]\nLog=x\n\($0 % 2 == 0 ? "After" : "Requires")=h\($0 + 1)\n"
        }
        let text = texts.joined()
        let open = LongPart.count(300, long: QueueDefinition.longestChain - 1)
        let end = "[Queue q\(open)]\n[Handler h\(open)]\nLog=x\n[Group g]\nMembers=h\(open)\nLog=x\n"
        #expect(load(texts.prefix(open).joined() + end).diagnostics.allSatisfy { $0.severity == .warning })
        let closed = load(
            text + "[Queue q\(count)]\nTarget=q0\n[Handler h\(count)]\nLog=x\nAfter=h0\n"
                + "[Handler x]\nLog=x\n[Group g]\nMembers=x h1\nHandler=x\n")
        let messages = closed.diagnostics.map(\.message)
        #expect(messages.count == 3)
        #expect(messages.contains { $0.hasPrefix("these queues target each other: q0 → q1 → ") })
        #expect(messages.contains { $0.hasPrefix("these wait for each other: h0 → h1 → ") })
        #expect(messages.contains("[Group g] starts its own member x: group/g → x → group/g"))
    }

    @Test func targetsEndAtTheirLimit() {
        let limit = QueueDefinition.longestChain
        func diagnostics(_ count: Int) -> [Diagnostic] {
            let texts = (1..<count).map { "[Queue q\($0)]\nTarget=q\($0 + 1)\n" }
            return load(texts.joined() + "[Queue q\(count)]\n").diagnostics.filter { $0.severity == .error }
        }
        #expect(diagnostics(limit).isEmpty)
        let over = diagnostics(limit + 5)
        #expect(over.map(\.message) == ["more than 1000 queues in a chain of targets, from here on"])
        #expect(over.map(\.location.line) == [5 * 2])
    }

    @Test func chainsOfHandlersAreWarnedOfBeyondTheirLimit() {
        func messages(_ count: Int) -> [String] {
            let texts = (1..<count).map { $0 % 2 == 0 ? link(to: $0 + 1, of: $0) : emission(to: $0 + 1, of: $0) }
            return load(texts.joined() + "[Handler h\(count)]\nLog=x\n[Custom s]\nHandler=h1\n").diagnostics
                .map(\.message).filter { $0.contains("chain") }
        }
        func link(to next: Int, of name: Int) -> String { "[Handler h\(name)]\nLog=x\nOnChange=h\(next)\n" }
        func emission(to next: Int, of name: Int) -> String {
            "[Handler h\(name)]\nEmit=c\(name)\n[Custom c\(name)]\nHandler=h\(next)\n"
        }
        #expect(messages(17).isEmpty)
        #expect(
            messages(20) == [
                "a chain of On...= and Emit= ends after 17 handlers, before h18: h1 → custom/c1 → h2 → h3 → custom/c3"
                    + " → h4 → h5 → custom/c5 → h6 → h7 → … → h12 → h13 → custom/c13 → h14 → h15"
                    + " → custom/c15 → h16 → h17 → custom/c17 → h18"
            ])
    }

    @Test func countsAndRatesEndAtTheirLimits() throws {
        let text = """
            [Watchd]
            MaxProcesses=4194304
            MaxOperations=1000000000
            [Queue q]
            Type=concurrent
            Width=1000000
            Backlog=1000000000
            RateLimit=100000/1d
            [Semaphore s]
            Value=1000000000
            [Handler h]
            Log=x
            Queue=q
            Acquire=s:500000000
            Consume=s:500000000
            Release=s:999999999 s
            Stride=1000000000
            Retry=1000000000
            DelaySec=100y
            RetrySec=100y
            """
        let configuration = try #require(load(text).configuration)
        let handler = try #require(configuration.handlers.first)
        #expect(handler.constraints.releases == [SemaphoreCount(name: "s", count: 1_000_000_000)])
        #expect(handler.retry.maxDelay == handler.retry.delay)
        for (key, larger) in [
            ("Width=1000000", "Width=1000001"), ("Backlog=1000000000", "Backlog=1000000001"),
            ("RateLimit=100000/1d", "RateLimit=100001/1d"), ("RateLimit=100000/1d", "RateLimit=100000/1d 1us"),
            ("Value=1000000000", "Value=9223372036854775808"), ("Consume=s:500000000", "Consume=s:500000001"),
            ("s:999999999 s", "s:999999999 s s"), ("Stride=1000000000", "Stride=0"), ("Width=1000000", "Width=0"),
            ("Backlog=1000000000", "Backlog=0"), ("DelaySec=100y", "DelaySec=100y 1us"),
        ] {
            let parts = text.split(separator: key, maxSplits: 1)
            #expect(load(parts.joined(separator: larger)).diagnostics.map(\.severity) == [.error], "\(larger)")
        }
    }

    @Test func aListOfCountsIsBounded() {
        let semaphores = (0..<WatchFile.maximumNames).map { "s\($0)" }
        let text = semaphores.map { "[Semaphore \($0)]\nValue=1\n" }.joined() + "[Handler h]\nLog=x\nAcquire="
        #expect(
            load(text + semaphores.joined(separator: " ")).configuration?.handlers.first?.constraints.acquires.count
                == WatchFile.maximumNames)
        #expect(
            problems(in: text + semaphores.joined(separator: " ") + " s0") == [
                "515:9: Acquire= has more than 256 names"
            ])
    }
}
