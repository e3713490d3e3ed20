import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

/// Changes that `Events=` do not ask for count where something waits for what comes behind them, or would wait
/// (`UnaskedChanges`).
@Suite("Changes that nobody asks for")
struct UnaskedChangeTests {
    private func fixture(
        _ events: PathEvents, key: KeyRule = .handler, settling: UInt64? = 1, isSuspended: Bool = false,
        isQueueSuspended: Bool = false
    ) -> EngineFixture {
        let rule = settling.map { SettleRule(quiet: .seconds($0), longest: .seconds(10 * $0)) }
        return EngineFixture(
            Configuration.of(
                queues: [.serial("q", isSuspended: isQueueSuspended)], handlers: [.exec("h")],
                sources: [
                    .path("p", to: "h", on: "q", key: key, isSuspended: isSuspended, events: events, settle: rule)
                ]))
    }

    private func told(_ fixture: EngineFixture) -> [String] {
        fixture.engine.operationViews.flatMap(\.events).map(\.shown)
    }

    private func counters(_ fixture: EngineFixture) -> Counters? {
        fixture.engine.sourceViews.first { $0.id == SourceID(.path, "p") }?.counters
    }

    /// Of the new folder its end alone tells a handler that knows the one before.
    @Test func theEndOfAFolderInThePlaceOfAKnownOneIsToldLongAfterwards() {
        let fixture = fixture(.changed, settling: nil)
        fixture.path("p", .written, "/w/busy")
        fixture.path("p", .deleted, "/w/d", isFolder: true)
        fixture.path("p", .created, "/w/d", isFolder: true)
        fixture.endAll()
        fixture.advance(seconds: 10)
        var end = PathFact(.deleted, path: Array("/w/d".utf8), root: Array("/w".utf8), isNew: true, isFolder: true)
        end.isUntold = true
        fixture.send(.event(SourceID(.path, "p"), .path(end)))
        #expect(fixture.story == ["h: written:busy", "h: deleted:d"])
    }

    @Test(arguments: [KeyRule.handler, .perPath])
    func theEndOfATemporaryFileIsNoNews(key: KeyRule) {
        let fixture = fixture(.deleted, key: key)
        fixture.path("p", .written, "/w/tmp", isNew: true)
        fixture.path("p", .deleted, "/w/tmp")
        #expect(told(fixture) == [])
        #expect(counters(fixture)?.accepted == 1 && counters(fixture)?[.annulled] == 1)
        fixture.path("p", .written, "/w/f")
        fixture.path("p", .deleted, "/w/f")
        #expect(told(fixture) == ["deleted:f"])
    }

    /// `sed -i`, and a file that is made anew.
    @Test func aNewFileInThePlaceOfAnOldOneIsNeitherRenamedNorCreated() {
        let renames = fixture(.renamed)
        renames.path("p", .written, "/w/tmp", isNew: true)
        renames.path("p", .renamed, "/w/f", from: "/w/tmp", replaced: true)
        #expect(told(renames) == [])
        let creations = fixture(.created)
        creations.path("p", .deleted, "/w/f")
        creations.path("p", .created, "/w/f")
        #expect(told(creations) == [])
    }

    /// The operation waits for others; of the path that came and went it does not tell.
    @Test func whatBecameOfItIsExplained() {
        let fixture = fixture(.changed)
        fixture.path("p", .written, "/w/keep")
        fixture.path("p", .written, "/w/tmp", isNew: true)
        fixture.path("p", .deleted, "/w/tmp")
        let explained = fixture.engine.explain(events: [2, 3])
        #expect(explained.map(\.code) == [.joined, .joined, .annulled])
        #expect(
            explained.last?.sentence == "its changes cancel each other out: operation 1 does not tell of it")
        fixture.path("p", .written, "/w/tmp")
        #expect(fixture.engine.explain(events: [2, 3, 4]).map(\.code).suffix(2) == [.joined, .settle])
        fixture.advance(seconds: 1)
        #expect(fixture.engine.explain(events: [2, 3]).map(\.code) == [.joined, .joined, .annulled])
    }

    /// A log that is rotated while somebody writes it, for who asks for no writes.
    @Test(arguments: [[.renamed, .created], [.renamed, .created, .deleted]] as [PathEvents])
    func aRenameIsToldBeforeWhatComesToItsOldPath(_ events: PathEvents) {
        let fixture = fixture(events)
        fixture.path("p", .written, "/w/f")
        fixture.path("p", .renamed, "/w/u", from: "/w/f")
        fixture.path("p", .created, "/w/f")
        fixture.path("p", .written, "/w/u")
        #expect(told(fixture) == ["renamed:f>ux2", "created:f"])
        fixture.path("p", .written, "/w/f")
        #expect(told(fixture) == ["renamed:f>ux2", "created:fx2"])
    }

    /// The end of what a run was told that goes on after a kill: what comes to its place was never handled.
    @Test func whatComesToThePlaceOfWhatWasNotHandledIsNew() {
        let fixture = fixture(.all)
        fixture.path("p", .deleted, "/w/d", isNew: true, isFolder: true)
        #expect(told(fixture) == ["deleted:d"])
        fixture.path("p", .created, "/w/d", isFolder: true)
        #expect(told(fixture) == ["created:dx2"])
    }

    /// A tree tells of a folder that has come, and of its end where that follows at once.
    @Test(arguments: [PathEvents.changed, [.changed, .created], .deleted])
    func theEndOfAnotherFolderInItsPlaceIsThatOfTheFirst(_ events: PathEvents) {
        let fixture = fixture(events)
        var end = PathFact(.deleted, path: Array("/w/d".utf8), root: Array("/w".utf8), isFolder: true)
        end.isUntold = true
        fixture.send(.event(SourceID(.path, "p"), .path(end)))
        #expect(told(fixture) == [])
        fixture.path("p", .deleted, "/w/d", isFolder: true)
        fixture.path("p", .created, "/w/d", isFolder: true)
        fixture.send(.event(SourceID(.path, "p"), .path(end)))
        #expect(told(fixture).map { $0.prefix(9) } == ["deleted:d"])
        fixture.advance(seconds: 1)
        fixture.endFirst()
        fixture.path("p", .renamed, "/w/e", from: "/w/d", isFolder: true)
        fixture.path("p", .created, "/w/d", isFolder: true)
        fixture.send(.event(SourceID(.path, "p"), .path(end)))
        fixture.advance(seconds: 1)
        let wasAsked = events.contains(.renamed)
        #expect(told(fixture).map { $0.prefix(11) } == (wasAsked ? ["renamed:d>e"] : []))
    }

    /// Of renames that go round in a circle no order tells the truth.
    @Test(arguments: [false, true], [nil, 1] as [UInt64?]) func ofACircleOfRenamesOneIsNotTold(
        isSuspended: Bool, settling: UInt64?
    ) {
        for events in [.renamed, [.renamed, .created], [.renamed, .deleted]] as [PathEvents] {
            let fixture = fixture(events, settling: settling, isSuspended: isSuspended, isQueueSuspended: true)
            fixture.path("p", .renamed, "/w/s", from: "/w/p")
            fixture.path("p", .renamed, "/w/p", from: "/w/q")
            fixture.path("p", .renamed, "/w/q", from: "/w/s")
            fixture.resume("path/p")
            #expect(told(fixture).map { $0.prefix(11) } == ["renamed:q>p"], "\(events)")
        }
        let three = fixture(.renamed)
        for (old, new) in [("p", "s"), ("r", "p"), ("q", "r"), ("s", "q")] {
            three.path("p", .renamed, "/w/\(new)", from: "/w/\(old)")
        }
        #expect(told(three).map { $0.prefix(11) } == ["renamed:r>p", "renamed:q>r"])
    }

    @Test func itIsOldWhenASettledOperationWouldHaveRun() {
        let fixture = fixture(.deleted)
        fixture.path("p", .written, "/w/a", isNew: true)
        fixture.advance(seconds: 1)
        fixture.path("p", .deleted, "/w/a")
        #expect(told(fixture) == ["deleted:a"])
        fixture.advance(seconds: 1)
        fixture.endFirst()
        // `MaxSettleSec=`.
        for _ in 0..<20 {
            fixture.path("p", .written, "/w/b", isNew: true)
            fixture.advance(seconds: 0.5)
        }
        fixture.path("p", .deleted, "/w/b")
        #expect(told(fixture) == ["deleted:b"])
    }

    @Test func withoutAnOperationThatWaitsNothingIsKept() {
        let fixture = fixture(.deleted, settling: nil)
        fixture.path("p", .written, "/w/a", isNew: true)
        fixture.path("p", .deleted, "/w/a")
        #expect(told(fixture) == ["deleted:a"])
    }

    @Test func itCountsAsLongAsAnOperationWaits() {
        let fixture = fixture(.deleted, settling: nil, isQueueSuspended: true)
        fixture.path("p", .deleted, "/w/f")
        fixture.path("p", .written, "/w/tmp", isNew: true)
        fixture.advance(seconds: 3600)
        fixture.path("p", .deleted, "/w/tmp")
        #expect(told(fixture) == ["deleted:f"])
        fixture.path("p", .written, "/w/new", isNew: true)
        fixture.resume("q")
        fixture.endFirst()
        fixture.path("p", .deleted, "/w/new")
        #expect(told(fixture) == ["deleted:new"])
    }

    @Test func itCountsAsLongAsTheSourceIsSuspended() {
        let fixture = fixture(.deleted, isSuspended: true)
        fixture.path("p", .written, "/w/tmp", isNew: true)
        fixture.path("p", .written, "/w/new", isNew: true)
        fixture.advance(seconds: 3600)
        fixture.path("p", .deleted, "/w/tmp")
        #expect(counters(fixture)?[.held] == 0 && counters(fixture)?[.annulled] == 1)
        fixture.resume("path/p")
        fixture.path("p", .deleted, "/w/new")
        #expect(told(fixture) == ["deleted:new"])
    }

    @Test func noMoreAreKeptThanTheLimit() {
        let fixture = fixture(.deleted)
        for number in 0...UnaskedChanges.limit { fixture.path("p", .written, "/w/\(number)", isNew: true) }
        fixture.path("p", .deleted, "/w/\(UnaskedChanges.limit)")
        #expect(told(fixture) == [])
        fixture.path("p", .deleted, "/w/0")
        #expect(told(fixture) == ["deleted:0"])
    }

    /// A path source tells a rename that is not asked for as what it means at each end, and a file that comes as written.
    private func asTold(_ fact: PathFact, _ events: PathEvents) -> [PathFact] {
        switch fact.change {
        case .renamed where !events.contains(.renamed):
            guard let oldPath = fact.oldPath else { return [] }
            let come = PathFact(
                fact.isFolder ? .created : .written, path: fact.path, root: fact.root, isNew: !fact.hasReplaced,
                isFolder: fact.isFolder)
            return [PathFact(.deleted, path: oldPath, root: fact.root, isFolder: fact.isFolder), come]
        case .created where !events.contains(.created) && !fact.isFolder:
            return [PathFact(.written, path: fact.path, root: fact.root, isNew: true)]
        case .modified, .attributes: return events.contains(PathEvents(fact.change)) ? [fact] : []
        case .created, .written, .deleted, .renamed: return [fact]
        }
    }

    @Test func ofAnythingThatCameAndWentNobodyIsTold() {
        for seed in Seeds.range(300, long: 20000) {
            var random = SeededGenerator(seed: seed)
            var folder = VirtualFolder(&random)
            let events = PathEvents(rawValue: UInt8(1 + random.upTo(62)))
            let fixture = fixture(events, key: random.chance(50) ? .handler : .perPath)
            var sent: [PathFact] = []
            for _ in 0..<(1 + random.upTo(12)) { sent += folder.change(&random).flatMap { asTold($0, events) } }
            for fact in sent { fixture.send(.event(SourceID(.path, "p"), .path(fact))) }
            let facts = fixture.engine.operationViews.flatMap(\.events).compactMap { event in
                if case .path(let fact) = event.fact { fact } else { nil }
            }
            // The end of a file is told where a folder stands by now that nobody asks for, and the other way round.
            let objections = [
                events.isSuperset(of: [.created, .written]) ? folder.falsehood(in: facts) : nil,
                folder.temporary(in: facts),
                events.contains(.deleted) ? folder.silence(about: facts) : nil,
            ]
            if let objection = objections.compactMap(\.self).first {
                Issue.record("seed \(seed), \(events): \(objection), in \(facts.map(\.shown)) of \(sent.map(\.shown))")
                return
            }
        }
    }
}
