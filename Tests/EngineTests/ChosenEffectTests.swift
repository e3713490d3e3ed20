import SeedKit
import Testing
import WatchFile

@testable import Engine

/// `Events=` chooses from net effects (Semantics.md, "Net effect").
@Suite("Events= of net effects")
struct ChosenEffectTests {
    private func fixture(
        _ events: PathEvents, key: KeyRule = .handler, isSuspended: Bool = false
    ) -> EngineFixture {
        EngineFixture(
            Configuration.of(
                queues: [.serial("q", isSuspended: !isSuspended)], handlers: [.exec("h")],
                sources: [.path("p", to: "h", on: "q", key: key, isSuspended: isSuspended, events: events)]))
    }

    private func told(_ fixture: EngineFixture) -> [String] {
        fixture.engine.operationViews.flatMap(\.events).map(\.shown)
    }

    private func counters(_ fixture: EngineFixture) -> Counters? {
        fixture.engine.sourceViews.first { $0.id == SourceID(.path, "p") }?.counters
    }

    /// As a path source tells it that asks for `written` alone.
    @Test(arguments: [KeyRule.handler, .perPath])
    func aTemporaryFileIsNeverTold(key: KeyRule) {
        let fixture = fixture(.written, key: key)
        fixture.path("p", .written, "/w/tmp", isNew: true)
        fixture.path("p", .deleted, "/w/tmp")
        #expect(told(fixture) == [])
        fixture.path("p", .written, "/w/f")
        #expect(told(fixture) == ["written:f"])
        #expect(counters(fixture)?.accepted == 3 && counters(fixture)?[.annulled] == 2)
    }

    /// Its place is taken again by something that nobody asks for.
    @Test(arguments: [KeyRule.handler, .perPath], [false, true])
    func aRenameWhosePlaceIsTakenAgainTellsNoEndOfIt(key: KeyRule, isFolder: Bool) {
        let fixture = fixture(isFolder ? .changed : [.renamed, .deleted], key: key)
        let change: PathChange = isFolder ? .created : .written
        fixture.path("p", .renamed, "/w/b", from: "/w/a", isFolder: isFolder)
        fixture.path("p", change, "/w/a", isFolder: isFolder)
        fixture.path("p", .deleted, "/w/b", isFolder: isFolder)
        #expect(told(fixture) == [])
        fixture.path("p", .renamed, "/w/d", from: "/w/c", isFolder: isFolder)
        fixture.path("p", change, "/w/c", isFolder: isFolder)
        fixture.path("p", .deleted, "/w/c", isFolder: isFolder)
        fixture.path("p", .deleted, "/w/d", isFolder: isFolder)
        #expect(told(fixture) == ["deleted:cx2"])
    }

    @Test(arguments: [KeyRule.handler, .perPath])
    func aNewFileThatIsRenamedIsWritten(key: KeyRule) {
        let fixture = fixture(.changed, key: key)
        fixture.path("p", .written, "/w/tmp", isNew: true)
        fixture.path("p", .renamed, "/w/f", from: "/w/tmp", replaced: true)
        #expect(told(fixture) == ["written:fx2"])
        fixture.path("p", .written, "/w/lock", isNew: true)
        fixture.path("p", .deleted, "/w/lock")
        #expect(told(fixture) == ["written:fx2"])
    }

    @Test func nobodyHearsOfAChangeThatIsNotAskedFor() {
        let fixture = fixture(.written)
        fixture.path("p", .deleted, "/w/f")
        fixture.path("p", .created, "/w/f")
        #expect(told(fixture) == [])
        #expect(counters(fixture)?.accepted == 0)
    }

    @Test func aDeletionOfWhatStandsThereAgainIsNone() {
        let fixture = fixture(.deleted)
        fixture.path("p", .deleted, "/w/f")
        fixture.path("p", .written, "/w/f", isNew: true)
        #expect(told(fixture) == [])
        fixture.path("p", .deleted, "/w/f")
        #expect(told(fixture) == ["deleted:f"])
    }

    @Test func aRenameOfWhatIsGoneIsNone() {
        let fixture = fixture(.renamed)
        fixture.path("p", .renamed, "/w/b", from: "/w/a")
        fixture.path("p", .deleted, "/w/b")
        #expect(told(fixture) == [])
        fixture.path("p", .renamed, "/w/b", from: "/w/a")
        fixture.path("p", .renamed, "/w/a", from: "/w/b")
        #expect(told(fixture) == [])
    }

    @Test func aWriteTakesNothingFromWhoAsksForLess() {
        let attributes = fixture(.attributes)
        attributes.path("p", .attributes, "/w/f")
        attributes.path("p", .written, "/w/f")
        #expect(told(attributes) == ["attributes:fx2"])
        let modified = fixture(.modified)
        modified.path("p", .modified, "/w/f")
        modified.path("p", .written, "/w/f")
        #expect(told(modified) == ["modified:fx2"])
    }

    @Test func itIsTheSameOfWhatASuspendedSourceKeeps() {
        let fixture = fixture(.written, isSuspended: true)
        fixture.path("p", .written, "/w/tmp", isNew: true)
        fixture.path("p", .written, "/w/f")
        fixture.path("p", .deleted, "/w/tmp")
        #expect(counters(fixture)?[.held] == 1 && counters(fixture)?[.annulled] == 2)
    }

    @Test func whatIsToldIsTrueWhateverIsAskedFor() {
        for seed in Seeds.range(150, long: 3000) {
            var random = SeededGenerator(seed: seed)
            var folder = VirtualFolder(&random)
            var events = PathEvents(rawValue: UInt8(1 + random.upTo(62)))
            // A path source tells a rename that is not asked for as what it means at each end; without these nobody is
            // told that something stands again where a rename began.
            events.formUnion([.renamed, .written, .created])
            let fixture = fixture(events, key: random.chance(50) ? .handler : .perPath)
            for _ in 0..<15 {
                for fact in folder.change(&random) { fixture.send(.event(SourceID(.path, "p"), .path(fact))) }
                let facts = fixture.engine.operationViews.flatMap(\.events).compactMap { event in
                    if case .path(let fact) = event.fact { fact } else { nil }
                }
                #expect(facts.allSatisfy { events.contains(PathEvents($0.change)) })
                if let falsehood = folder.falsehood(in: facts) {
                    Issue.record("seed \(seed), \(events): \(falsehood), in \(facts.map(\.shown))")
                    return
                }
            }
        }
    }
}
