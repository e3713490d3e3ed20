import Engine
import EventSources
import LinuxSystem
import WatchFile

/// `Explain` of a path: whether somebody still writes the file, of which no source is told before it is closed.
extension Runtime {
    /// A source that sees it is told when it is written.
    func isToldWhenWritten(_ path: [UInt8]) -> Bool {
        engine.sourceViews.contains { view in
            guard view.isListed, case .path(let trigger) = view.definition.trigger,
                trigger.events.contains(.written), case .seen? = trigger.sight(of: path)
            else { return false }
            return true
        }
    }

    /// Microseconds: a file system that hangs keeps nobody waiting for longer.
    private static let patience: Int64 = 2_000_000

    /// Calls `done` once, on the core.
    func lookForWriters(of path: [UInt8], _ done: @escaping ([Explanation]) -> Void) {
        let answer = QueueBound(OnlyOnce(done), to: core)
        core.after(Int(Self.patience)) { answer.value.give([]) }
        slow.submit("a look at who writes a file") { [core] in
            let writers = FileWriters(path, until: Linux.now(.monotonic) + Self.patience / 2)
            core.async { answer.value.give(writers.sentence.map { [Explanation(code: .open, sentence: $0)] } ?? []) }
        }
    }
}

/// Somebody who waits for one answer.
private final class OnlyOnce {
    private var done: (([Explanation]) -> Void)?

    init(_ done: @escaping ([Explanation]) -> Void) { self.done = done }

    func give(_ steps: [Explanation]) {
        done?(steps)
        done = nil
    }
}

/// The processes that have a regular file open for writing, as far as this one may know.
private struct FileWriters {
    var isWritten = false
    var processes: [FileWriter] = []

    /// May take long.
    init(_ path: [UInt8], until deadline: Int64) {
        // Nothing else is opened: a device or a FIFO may take notice.
        guard (try? Linux.lstat(path))?.kind == .regular else { return }
        processes = Linux.writers(ofFile: path, atMost: 5, until: deadline)
        isWritten = !processes.isEmpty || Linux.writers(of: path) == .some
    }

    var sentence: String? {
        guard isWritten else { return nil }
        let names = processes.map { "process \($0.process)" + ($0.name.isEmpty ? "" : " (\($0.name.printable))") }
        let who = names.isEmpty ? "somebody" : names.joined(separator: ", ")
        return "\(who) \(names.count > 1 ? "have" : "has") it open for writing: written comes when it is closed"
    }
}
