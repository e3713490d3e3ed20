import SeedKit
import Testing
import WatchFile

@Suite("Watch file, at random")
struct RoundTripTests {
    @Test func aConfigurationPrintedAsAWatchFileLoadsAsTheSame() {
        for _ in 0..<LongPart.count(40, long: 2000) {
            let seed = UInt64.random(in: 0...UInt64.max)
            var random = RandomConfiguration(generator: SplitMix(state: seed))
            let expected = random.make()
            var printer = ConfigurationPrinter(generator: random.generator)
            let result = load(bytes: printer.print(expected))
            let usual = ["Once= ", "nothing starts ", "no shell reads ", "BatchSize= of "]
            let unexpected = result.diagnostics.filter { diagnostic in
                diagnostic.severity == .error || !usual.contains { diagnostic.message.hasPrefix($0) }
            }
            let diagnostics = unexpected.map { $0.rendered() }.joined(separator: "\n")
            #expect(unexpected.isEmpty, "seed \(seed)\n\(diagnostics)")
            guard let actual = result.configuration else { continue }
            #expect(actual.settings == expected.settings, "seed \(seed)")
            #expect(actual.queues == expected.queues, "seed \(seed)")
            #expect(actual.semaphores == expected.semaphores, "seed \(seed)")
            #expect(actual.handlers == expected.handlers, "seed \(seed)")
            #expect(actual.sources == expected.sources, "seed \(seed)")
        }
    }

    @Test func randomBytesAreRefusedAndNeverCrash() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var generator = SplitMix(state: seed)
        let deadline = ContinuousClock.now.advanced(by: .seconds(LongPart.count(1, long: 20)))
        while ContinuousClock.now < deadline {
            let bytes = (0..<Int.random(in: 0..<400, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            check(load(bytes: bytes), seed)
            check(load(bytes: Array("[Handler x]\nExec=".utf8) + bytes), seed)
        }
    }

    /// Words of the language in random order get further than random bytes.
    @Test func randomWordsNeverCrash() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var generator = SplitMix(state: seed)
        let words = [
            "[", "]", "\n", "\n", "=", " ", "\\\n", "#", "%", "%{", "}", "%p", "%@", "'", "\"", "\\x", "\\u12", "\t",
            "[Handler", "[Path", "[Timer", "[Custom", "[Queue", "[Watchd]", "[Descriptor", "\nExec=", "\nPath=",
            "\nKey=",
            "[Group", "[Semaphore", "\nValue=", "\nMembers=", "\nAcquire=", "\nRequires=", "\nAfter=", "\nTarget=",
            "\nBarrier=yes", "\nPriority=high", "\nQueue=", "\nRateLimit=", "\nRetrySec=", "\nOverlap=restart", ":",
            "3",
            "\nHandler=", "\nEmit=", "\nOnFailure=", "\nEnvironment=", "\nEverySec=", "\nListenDatagram=", "a", "b",
            "/",
            "sh -c", "[::1]:", "1.2.3.4:5", "65536", "infinity", "\u{e9}", "\r\n", "-", "none", "\0", "SIGRTMIN+",
        ]
        let deadline = ContinuousClock.now.advanced(by: .seconds(LongPart.count(1, long: 20)))
        while ContinuousClock.now < deadline {
            let text = (0..<Int.random(in: 0..<120, using: &generator)).map { _ in
                words.randomElement(using: &generator) ?? ""
            }
            check(load(text.joined()), seed)
        }
    }

    private func check(_ result: LoadResult, _ seed: UInt64) {
        for diagnostic in result.diagnostics { #expect(!diagnostic.rendered().isEmpty) }
        let hasError = result.diagnostics.contains { $0.severity == .error }
        #expect(hasError == (result.configuration == nil), "seed \(seed)")
    }
}
