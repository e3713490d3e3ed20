import Engine
import Store
import Testing
import WatchFile

@testable import Daemon

@Suite("The end of a watchd that was not stopped")
struct UncleanEndTests {
    private func sentence(_ names: [String]) throws -> String {
        var contents = StoreContents()
        contents.wasClosed = false
        let end = try #require(UncleanEnd(contents, StoredState()) { _ in false })
        return end.sentence(unkept: names.map { SourceID(.descriptor, $0) })
    }

    @Test func aStoreThatHasLostTheMarkOfAStopSaysNothingOfHowThatWas() throws {
        var contents = StoreContents()
        (contents.wasClosed, contents.missing) = (false, 3)
        let end = try #require(UncleanEnd(contents, StoredState()) { _ in false })
        let sentence = end.sentence(unkept: [])
        #expect(sentence == "whether watchd was stopped last time is not known, as the store has lost that")
        #expect(!end.isKnown && end.problem == nil)
    }

    @Test func aRemedyIsToldOfWhatHasAQueueOnly() {
        #expect(WaitingByHandler(["@acquire disk:1": 2]).help == nil)
        #expect(
            WaitingByHandler(["@acquire disk:1": 2, "backup": 1]).help
                == "Durable=yes for their queue keeps what waits")
    }

    @Test func onlySourcesThatMayHaveLostSomethingAreNamed() throws {
        #expect(try !sentence([]).contains("may be lost"))
        #expect(try sentence(["a"]).hasSuffix("; what was not read yet of descriptor/a may be lost"))
        let many = try sentence((1...7).map { "s\($0)" })
        #expect(
            many.hasSuffix(
                "of descriptor/s1, descriptor/s2, descriptor/s3, descriptor/s4, descriptor/s5 and 2 more may be lost"))
    }
}
