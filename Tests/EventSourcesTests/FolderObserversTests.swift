import LinuxSystem
import ProgramKit
import Testing

@testable import EventSources

@Suite("Observers of a folder", .ownThread) struct FolderObserversTests {
    private final class Observer: FolderObserver {
        var told: [String] = []
        func observe(_ event: FolderEvent) {
            told.append("\(event.change) \(String(decoding: event.name, as: UTF8.self))")
        }
    }

    private func event(_ name: String, _ mask: InotifyMask) -> InotifyEvent {
        InotifyEvent(watch: 1, mask: mask, cookie: 0, name: Array(name.utf8))
    }

    private func indices(_ owners: [any FolderObserver], of all: [Observer]) -> [Int] {
        owners.compactMap { owner in all.firstIndex { $0 === owner } }
    }

    @Test func onlyThoseThatWaitForTheNameAreTold() {
        let all = (0..<1000).map { _ in Observer() }
        var observers = FolderObservers()
        for (index, observer) in all.enumerated() {
            observers.add(observer, [.created, .selfDeleted], of: index == 0 ? nil : Array("\(index % 500)".utf8))
        }
        #expect(indices(observers.owners(of: event("7", .created)), of: all) == [0, 7, 507])
        #expect(indices(observers.owners(of: event("other", .created)), of: all) == [0])
        #expect(observers.owners(of: event("7", .deleted)).isEmpty)
        #expect(indices(observers.owners(of: event("", .selfDeleted)), of: all) == Array(0..<1000))
    }

    @Test func eachIsToldOnceHoweverManyOfItsNamesItConcerns() {
        let one = Observer()
        var observers = FolderObservers()
        observers.add(one, .created, of: nil)
        observers.add(one, .created, of: Array("a".utf8))
        observers.add(one, .deleted, of: Array("a".utf8))
        #expect(observers.owners(of: event("a", .created)).count == 1)
        #expect(observers.owners(of: event("a", .deleted)).count == 1)
        #expect(observers.all.count == 1)
        observers.remove(one, of: Array("a".utf8))
        #expect(observers.contains(one, of: Array("a".utf8)))
        observers.remove(one, of: Array("a".utf8))
        #expect(observers.owners(of: event("a", .deleted)).isEmpty)
        observers.remove(one, of: nil)
        #expect(observers.isEmpty)
    }
}
