import Dispatch
import LinuxSystem
import ProgramKit
import Testing

@testable import EventSources

/// Files whose content is to be told when nobody writes them any more.
@Suite("Files that are due", .ownThread) struct DueFilesTests {
    /// Confined to the core.
    private final class Asking {
        var path: [UInt8]
        /// The next question is answered as the one before.
        var isTooEarly = false
        /// Done between the next question and its answer.
        var meanwhile: () -> Void = {}
        private(set) var answered = 0
        private(set) var isCompleted = false
        private(set) var files: DueFiles?
        private var last: [FileAnswer] = []

        init(_ path: String, _ hub: InotifyHub) {
            self.path = path.pathBytes
            files = DueFiles(
                hub: hub, path: { [weak self] _ in self?.path }, unchanged: { 1_000_000 },
                beside: { [weak self] work, done in
                    guard let self else { return }
                    let answers = isTooEarly ? last : work()
                    last = answers
                    isTooEarly = false
                    meanwhile()
                    meanwhile = {}
                    hub.after(0) { [self] in
                        done(answers)
                        answered += 1
                    }
                },
                completed: { [weak self] _, _ in self?.isCompleted = true }, idle: {})
            files?.add(FileTree.Reference(id: 1, generation: 0))
        }
    }

    /// Begins with a file that somebody writes, which is watched.
    private func with(_ body: (Folder, Asking) -> Void) throws {
        try Folder.with { folder in
            let rim = try Rim()
            let file = try Linux.open(folder["f"], [.writing, .creating]).release()
            let asking = rim.core.queue.sync {
                QueueBound(Asking(folder["f"], rim.parts.value.environment.inotify), to: rim.core)
            }
            try wait(for: "the file to be watched") {
                rim.core.queue.sync { asking.value.files?.watchCount == 1 && asking.value.answered >= 2 }
            }
            rim.core.queue.sync {
                body(folder, asking.value)
                FileDescriptor(owning: file).close()
            }
            try wait(for: "it to be complete") { rim.core.queue.sync { asking.value.isCompleted } }
            rim.core.queue.sync { asking.value.files?.close() }
        }
    }

    @Test func aCloseMayBeReportedBeforeTheWriterIsGone() throws {
        try with { _, asking in asking.isTooEarly = true }
    }

    @Test func aFileMayBeRenamedWhileItIsAskedFor() throws {
        try with { folder, asking in
            asking.meanwhile = {
                try? Linux.rename(folder["f"], to: folder["g"])
                asking.path = folder["g"].pathBytes
            }
        }
    }

    /// The last answer comes when whoever asks is over.
    @Test func oneThatIsOverSaysNothing() throws {
        let rim = try Rim()
        final class Late {
            var answer: ([FileAnswer]) -> Void = { _ in }
            var said: [String] = []
        }
        let late = QueueBound(Late(), to: rim.core)
        let files = rim.core.queue.sync {
            let late = late.value
            let files = DueFiles(
                hub: rim.parts.value.environment.inotify, path: { _ in "/f".pathBytes }, unchanged: { 1_000_000 },
                beside: { _, done in late.answer = done }, completed: { _, _ in late.said.append("completed") },
                idle: { late.said.append("idle") })
            files.add(FileTree.Reference(id: 1, generation: 0))
            return QueueBound(files, to: rim.core)
        }
        try wait(for: "the question") { rim.core.queue.sync { files.value.isBusy && !files.value.isWaiting } }
        rim.core.queue.sync {
            files.value.close()
            late.value.answer([])
            #expect(late.value.said == [])
        }
    }
}
