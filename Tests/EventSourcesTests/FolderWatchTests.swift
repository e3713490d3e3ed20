import Dispatch
import LinuxSystem
import ProgramKit
import Synchronization
import Testing

@testable import EventSources

@Suite("Names watched in a folder")
struct FolderWatchTests {
    @Test func itTellsOfItsNamesAndOfNoOther() throws {
        try Folder.with { folder in
            try folder.write("localtime", "one")
            let core = Context("test.core")
            let told = Mutex(0)
            let watch = try core.queue.sync {
                let watch = try FolderWatch(folder.path, names: ["localtime"], on: core) {
                    told.withLock { $0 += 1 }
                }
                return QueueBound(watch, to: core)
            }
            defer { core.queue.sync { watch.value.cancel() } }
            try folder.write("other", "two")
            try folder.write("new", "three")
            core.queue.sync {}
            #expect(told.withLock { $0 } == 0)
            // As a link is replaced by whoever sets the time zone.
            try Linux.rename(folder["new"], to: folder["localtime"])
            try wait(for: "the rename") { told.withLock { $0 } > 0 }
        }
    }

    @Test func aFolderThatIsNotThereIsAnError() {
        #expect(throws: SystemError.self) {
            _ = try FolderWatch("/nonexistent", names: ["a"], on: Context("test.core")) {}
        }
    }
}
