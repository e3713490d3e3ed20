import Testing
import WatchFile

@testable import Engine

/// Folders of a tree are created, deleted and renamed, never written (Semantics.md, "Folders"). A name with a slash is a
/// folder.
@Suite("Net effect of folders")
struct FolderEffectTests {
    private func fact(_ text: String) -> PathFact {
        let words = text.split(separator: " ").map(String.init)
        let names = words[1].split(separator: ">").map { Array("/w/\($0.replacing("/", with: ""))".utf8) }
        guard let change = PathChange(rawValue: words[0]), let path = names.last else {
            Issue.record("\(text) is no change")
            return PathFact(.written, path: [])
        }
        return PathFact(
            change, path: path, oldPath: names.count > 1 ? names[0] : nil, isFolder: words[1].contains("/"))
    }

    private func net(_ events: PathEvents, _ changes: String...) -> [String] {
        var entries = EntryList()
        var annulled = 0
        for (index, change) in changes.enumerated() {
            let event = Event(id: UInt64(index + 1), time: Int64(index + 1), fact: .path(fact(change)))
            annulled += entries.add(event, merge: .add, events: events).annulled
        }
        #expect(entries.deliveries + annulled == changes.count)
        return entries.events.map(\.shown)
    }

    @Test func aFolderThatCameAndWentIsNothing() {
        #expect(net(.all, "created d/", "deleted d/") == [])
        #expect(net([.written, .deleted], "created d/", "deleted d/") == [])
    }

    @Test func aFolderThatWentAndCameAgainIsNoNews() {
        #expect(net(.all, "deleted d/", "created d/") == [])
    }

    @Test func aNewFolderThatIsRenamedIsCreatedThere() {
        #expect(net(.all, "created d/", "renamed d/>e/") == ["created:ex2"])
        #expect(net(.changed, "created d/", "renamed d/>e/") == [])
    }

    @Test func aFolderInThePlaceOfAFileIsCreated() {
        #expect(net(.all, "deleted x", "created x/") == ["created:xx2"])
        #expect(net(.all, "written x", "deleted x", "created x/", "deleted x/", "written x") == ["written:xx5"])
        #expect(net(.all, "deleted x", "created x/", "deleted x/") == ["deleted:xx3"])
        #expect(net(.all, "deleted x", "created x/", "renamed x/>y/") == ["deleted:xx2", "created:y"])
    }

    @Test func whoDoesNotAskForTheFolderHearsOfTheEndOfTheFile() {
        #expect(net(.changed, "deleted x", "created x/") == ["deleted:xx2"])
        #expect(net(.changed, "deleted x", "created x/", "deleted x/", "written x") == ["written:xx4"])
    }

    @Test func aFileInThePlaceOfAFolderIsWhatTheFolderWas() {
        #expect(net(.all, "deleted x/", "created x", "written x") == ["created:xx3"])
        #expect(net(.all, "deleted x/", "written x", "deleted x") == ["deleted:xx3"])
        #expect(net(.all, "deleted x/", "written x", "deleted x", "created x/") == [])
        #expect(net(.all, "deleted x/", "written x", "renamed x>y") == ["deleted:xx2", "written:y"])
        #expect(net([.deleted, .renamed], "deleted x/", "written x") == ["deleted:xx2"])
    }

    @Test func whatRenamesLeaveOfAnotherKindIsGone() {
        #expect(net(.all, "deleted x/", "renamed a>x", "deleted x") == ["deleted:ax2", "deleted:x"])
        #expect(net(.all, "renamed d/>e/", "renamed e/>d/", "deleted d/") == ["deleted:d"])
    }

    @Test func aRenamedFolderIsRenamed() {
        #expect(net(.changed, "renamed d/>e/", "renamed e/>f/") == ["renamed:d>fx2"])
        #expect(net(.changed, "renamed d/>e/", "renamed e/>d/") == [])
    }
}
