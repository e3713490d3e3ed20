import Dispatch
import EventSources
import LinuxSystem
import ProgramKit
import Testing

@Suite("The inotify hub", .ownThread) struct InotifyHubTests {
    private final class Observer: FolderObserver {
        func observe(_ event: FolderEvent) {}
    }

    /// Its descriptor's number may be another one's by then.
    @Test func oneThatIsClosedWatchesNothingMore() throws {
        try Folder.with { folder in
            let core = Context("test.core")
            // It lives until its source has been cancelled.
            let kept = try core.queue.sync {
                let (hub, observer) = (InotifyHub(on: core), Observer())
                let number = try hub.watch(folder.path.pathBytes, .created, for: observer)
                hub.close()
                hub.unwatch(number, for: observer)
                #expect {
                    _ = try hub.watch(folder.path.pathBytes, .created, for: observer)
                } throws: {
                    ($0 as? SystemError)?.errno == .badDescriptor
                }
                return QueueBound(hub, to: core)
            }
            core.queue.sync { withExtendedLifetime(kept) {} }
        }
    }
}
