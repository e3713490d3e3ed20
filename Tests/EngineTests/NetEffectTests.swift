import SeedKit
import Testing
import WatchFile

@testable import Engine

@Suite("Net effect of path changes")
struct NetEffectTests {
    private func fact(_ text: String) -> PathFact {
        let words = text.split(separator: " ").map(String.init)
        let names = words[1].split(separator: ">").map { Array("/w/\($0.replacing("!", with: ""))".utf8) }
        guard let change = PathChange(rawValue: words[0]), let path = names.last else {
            Issue.record("\(text) is no change")
            return PathFact(.written, path: [])
        }
        return PathFact(
            change, path: path, oldPath: names.count > 1 ? names[0] : nil, hasReplaced: words[1].hasSuffix("!"))
    }

    /// What an operation tells after these changes.
    private func net(_ changes: String...) -> [String] {
        var entries = EntryList()
        var annulled = 0
        for (index, change) in changes.enumerated() {
            annulled += entries.add(event(fact(change), index + 1), merge: .add).annulled
        }
        #expect(entries.deliveries + annulled == changes.count)
        return entries.events.map(\.shown)
    }

    private func event(_ fact: PathFact, _ id: Int) -> Event {
        Event(id: UInt64(id), time: Int64(id), fact: .path(fact))
    }

    // MARK: The table of Semantics.md, "Net effect"

    @Test func createdAndWrittenIsCreated() { #expect(net("created a", "written a") == ["created:ax2"]) }
    @Test func createdAndDeletedIsNothing() { #expect(net("created a", "deleted a") == []) }
    @Test func writtenAndDeletedIsDeleted() { #expect(net("written a", "deleted a") == ["deleted:ax2"]) }
    @Test func deletedAndCreatedIsWritten() { #expect(net("deleted a", "created a") == ["written:ax2"]) }
    @Test func writtenAndRenamedIsRenamed() { #expect(net("written a", "renamed a>b") == ["renamed:a>bx2"]) }
    @Test func createdAndRenamedIsWritten() { #expect(net("created a", "renamed a>b") == ["written:bx2"]) }
    @Test func renamedTwiceIsRenamedOnce() { #expect(net("renamed a>b", "renamed b>c") == ["renamed:a>cx2"]) }
    @Test func renamedThereAndBackIsWritten() { #expect(net("renamed a>b", "renamed b>a") == ["written:ax2"]) }
    @Test func renamedAndDeletedIsDeletedAtTheOldPath() { #expect(net("renamed a>b", "deleted b") == ["deleted:ax2"]) }
    @Test func renamedOntoWhatWaitsHasReplacedIt() { #expect(net("written b", "renamed a>b") == ["renamed:a>b!x2"]) }

    @Test func anEditorsSaveIsWritten() {
        #expect(net("created tmp", "written tmp", "renamed tmp>a!") == ["written:ax3"])
        #expect(net("written a", "created tmp", "renamed tmp>a!") == ["written:ax3"])
    }

    @Test func aLogRotationTellsBothNames() {
        #expect(net("renamed log>log.1", "created log", "written log") == ["renamed:log>log.1", "created:logx2"])
    }

    /// Told one after the other, two renames would say that one thing is at both places.
    @Test func ofThingsThatChangePlacesOneIsWritten() {
        #expect(net("renamed a>t", "renamed b>a", "renamed t>b") == ["renamed:b>a!", "written:bx2"])
    }

    /// A rename that would be told behind what stands at its old path by now.
    @Test func aRenameThatGoesOnWhenItsOldPathIsTakenIsWrittenAtBoth() {
        #expect(net("renamed log>log.1", "created log", "written log.1") == ["written:log", "written:log.1x2"])
        #expect(net("renamed log>log.1", "created log", "renamed log.1>log.2") == ["written:log", "written:log.2x2"])
        #expect(net("renamed a>b", "renamed c>a", "renamed b>d") == ["renamed:c>a!", "written:dx2"])
        #expect(net("renamed log>log.1", "written log.1") == ["renamed:log>log.1x2"])
    }

    @Test func whatARenameReplacedIsToldWhenItMovesOn() {
        #expect(net("renamed a>b!", "renamed b>c") == ["deleted:b", "renamed:a>c"])
        #expect(net("renamed a>b!", "renamed b>a") == ["deleted:b", "written:a"])
        #expect(net("renamed a>b!", "deleted b") == ["deleted:a", "deleted:b"])
    }

    @Test func aNewFileThatMovesAndGoesWasNeverThere() {
        #expect(net("created a", "renamed a>b", "deleted b") == [])
        #expect(net("created a", "renamed a>b", "renamed b>c") == ["written:cx3"])
        #expect(net("created a", "renamed a>b!", "renamed b>c") == ["renamed:b>cx3"])
    }

    @Test func aRenameOntoARenamedOneTellsThatItsOriginIsGone() {
        #expect(net("renamed a>b", "renamed c>b!") == ["deleted:a", "renamed:c>b"])
    }

    // MARK: All pairs

    /// What two changes of one path come to; a rename as the older one has come to the path, as the newer one leaves
    /// it.
    private static let pairs: [PathChange: [PathChange: [String]]] = [
        .created: [
            .created: ["created:px2"], .written: ["created:px2"], .modified: ["created:px2"],
            .attributes: ["created:px2"],
            .deleted: [], .renamed: ["written:qx2"],
        ],
        .written: [
            .created: ["written:px2"], .written: ["written:px2"], .modified: ["written:px2"],
            .attributes: ["written:px2"],
            .deleted: ["deleted:px2"], .renamed: ["renamed:p>qx2"],
        ],
        .modified: [
            .created: ["written:px2"], .written: ["written:px2"], .modified: ["modified:px2"],
            .attributes: ["modified:px2"], .deleted: ["deleted:px2"], .renamed: ["renamed:p>qx2"],
        ],
        .attributes: [
            .created: ["written:px2"], .written: ["written:px2"], .modified: ["modified:px2"],
            .attributes: ["attributes:px2"], .deleted: ["deleted:px2"], .renamed: ["renamed:p>qx2"],
        ],
        .deleted: [
            .created: ["written:px2"], .written: ["written:px2"], .modified: ["modified:px2"],
            .attributes: ["attributes:px2"], .deleted: ["deleted:px2"], .renamed: ["renamed:p>qx2"],
        ],
        .renamed: [
            .created: ["renamed:o>px2"], .written: ["renamed:o>px2"], .modified: ["renamed:o>px2"],
            .attributes: ["renamed:o>px2"], .deleted: ["deleted:ox2"], .renamed: ["renamed:o>qx2"],
        ],
    ]

    @Test(arguments: PathChange.allCases, PathChange.allCases)
    func everyPairOfChanges(older: PathChange, newer: PathChange) {
        let first = older == .renamed ? "renamed o>p" : "\(older.rawValue) p"
        let second = newer == .renamed ? "renamed p>q" : "\(newer.rawValue) p"
        #expect(net(first, second) == Self.pairs[older]?[newer])
    }

    @Test func whatComparingFoundStaysMarked() {
        var found = fact("written a")
        found.isRecovered = true
        for change in PathChange.allCases where change != .renamed && change != .created {
            var entries = EntryList()
            _ = entries.add(event(found, 1), merge: .add)
            _ = entries.add(event(fact("\(change.rawValue) a"), 2), merge: .add)
            guard case .path(let net) = entries.events.first?.fact else { continue }
            #expect(net.isRecovered)
        }
    }

    // MARK: Against a folder

    @Test func theNetEffectIsTheDifferenceBetweenBeforeAndNow() {
        for seed in Seeds.range(500, long: 5000) {
            var random = SeededGenerator(seed: seed)
            var folder = VirtualFolder(&random)
            var entries = EntryList()
            var (events, annulled) = (0, 0)
            for _ in 0..<20 {
                for fact in folder.change(&random) {
                    events += 1
                    annulled += entries.add(event(fact, events), merge: .add).annulled
                }
                let facts = Self.facts(entries)
                if let objection = folder.objection(to: facts) {
                    return Self.report(seed, objection, facts)
                }
                #expect(entries.deliveries + annulled == events && entries.events.count == entries.count)
            }
        }
    }

    /// Events held back are merged among themselves first and handed on later, one by one.
    @Test func itIsTheSameWhenLaterChangesWereHeldBack() {
        for seed in Seeds.range(500, long: 5000) {
            var random = SeededGenerator(seed: seed)
            var folder = VirtualFolder(&random)
            var (entries, held) = (EntryList(), EntryList())
            var events = 0
            for step in 0..<16 {
                for fact in folder.change(&random) {
                    events += 1
                    if step < 6 {
                        _ = entries.add(event(fact, events), merge: .add)
                    } else {
                        _ = held.add(event(fact, events), merge: .add)
                    }
                }
            }
            while let next = held.nextInTurn() {
                #expect(held.removeNextInTurn() == next)
                _ = entries.add(next, merge: .add)
            }
            #expect(held.isEmpty)
            let facts = Self.facts(entries)
            if let objection = folder.objection(to: facts) { return Self.report(seed, objection, facts) }
        }
    }

    /// With `Key=%p` every path has an operation of its own, until a rename makes two of them one.
    @Test func itIsTheSameOverAllOperationsOfAHandler() {
        let configuration = Configuration.of(
            queues: [.serial("q", isSuspended: true)], handlers: [.exec("h")],
            sources: [.path("p", to: "h", on: "q", key: .perPath)])
        for seed in Seeds.range(40, long: 400) {
            var random = SeededGenerator(seed: seed)
            var folder = VirtualFolder(&random)
            let fixture = EngineFixture(configuration)
            for _ in 0..<15 {
                for fact in folder.change(&random) { fixture.send(.event(SourceID(.path, "p"), .path(fact))) }
                let events = fixture.engine.operationViews.flatMap(\.events)
                let facts = events.compactMap { event in
                    if case .path(let fact) = event.fact { fact } else { nil }
                }
                if let objection = folder.objection(to: facts) { return Self.report(seed, objection, facts) }
            }
        }
    }

    private static func facts(_ entries: EntryList) -> [PathFact] {
        entries.events.compactMap { event in
            if case .path(let fact) = event.fact { fact } else { nil }
        }
    }

    private static func report(_ seed: UInt64, _ objection: String, _ facts: [PathFact]) {
        Issue.record("seed \(seed): \(objection), in \(facts.map(\.shown)); WATCHD_SEEDS=\(seed)...\(seed)")
    }

    // MARK: Many paths

    @Test func manyPathsAreKeptInOrderAndMergedByPath() {
        var entries = EntryList()
        for index in 0..<5000 { _ = entries.add(event(fact("written f\(index)"), index + 1), merge: .add) }
        for index in 0..<2500 { _ = entries.add(event(fact("deleted f\(index * 2)"), 5001 + index), merge: .add) }
        #expect(entries.count == 5000 && entries.deliveries == 7500)
        #expect(entries.oldest?.shown == "written:f1")
        #expect(entries.newest?.shown == "deleted:f4998x2")
        #expect(entries.events.map(\.id) == entries.events.map(\.id).sorted())
        var removed = 0
        while entries.removeOldest() != nil { removed += 1 }
        #expect(removed == 5000 && entries.deliveries == 0)
    }
}
