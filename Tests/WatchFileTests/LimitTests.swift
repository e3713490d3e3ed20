import Testing
import WatchFile

@Suite("Bounds of a watch file")
struct LimitTests {
    @Test func aFileOfMoreThanAMebibyteIsRefusedUnread() {
        var text = Array("[Handler a]\nLog=x\n#".utf8)
        text += Array(repeating: UInt8(ascii: "x"), count: WatchFile.maximumBytes - text.count)
        #expect(load(bytes: text).diagnostics.isEmpty)
        #expect(load(bytes: text + [0]).diagnostics.map { $0.rendered() } == ["test.watch: error: larger than 1 MiB"])
    }

    @Test func tooManySectionsAreToldOnce() {
        let sections = (0..<WatchFile.maximumSections).map { "[Handler h\($0)]\nLog=x\n" }.joined()
        #expect(load(sections).configuration?.handlers.count == WatchFile.maximumSections)
        #expect(
            problems(in: sections + "[Handler more]\nLog=x\n[Handler again]\nLog=%q") == [
                "20001:1: more than 10000 sections"
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

    @Test func aLineOfErrorsKeepsOneCopyOfItself() {
        let line = "Exec=/bin/x " + String(repeating: "%q ", count: 300_000)
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
        let chain = (0..<count).map { "[Handler h\($0)]\nLog=x\nOnSuccess=h\($0 + 1)\n" }.joined()
        #expect(load(chain + "[Handler h\(count)]\nLog=x\n").configuration?.handlers.count == count + 1)
        let closed = load(chain + "[Handler h\(count)]\nLog=x\nOnFailure=h0\n")
        #expect(closed.diagnostics.count == 1)
        #expect(closed.diagnostics.first?.message.contains("h0 → h1 → ") == true)
        #expect(closed.diagnostics.first?.message.hasSuffix("h9000 → h0") == true)
    }
}
