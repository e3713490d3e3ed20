import Engine
import EventSources
import LinuxSystem
import WatchFile

/// A look at a path that is explained, and at the folders above it, made by a lane: the file system may hang.
struct PathLookBeside: Sendable {
    /// The symbolic links among the folders above it, the outermost first.
    var links: [[UInt8]] = []
    /// Of sources that follow links, by their `Path=`: the first of them that is not followed.
    var refusedLinks: [[UInt8]: RefusedLink] = [:]
    /// A folder stands there.
    var isFolder = false
    /// It is no folder, and something is mounted there.
    var isMountedFile = false
    /// The processes that have the file open for writing, a sentence: no source is told of it before it is closed.
    var writers: String?
}

extension Runtime {
    /// A source that sees it is told when it is written.
    private func isToldWhenWritten(_ path: [UInt8]) -> Bool {
        engine.sourceViews.contains { view in
            guard view.isListed, case .path(let trigger) = view.definition.trigger,
                trigger.events.contains(.written), case .seen? = trigger.sight(of: path)
            else { return false }
            return true
        }
    }

    private func rootsThatFollowLinks(above path: [UInt8]) -> [[UInt8]] {
        engine.sourceViews.flatMap { view -> [[UInt8]] in
            guard view.isListed, case .path(let trigger) = view.definition.trigger, trigger.followsLinks else {
                return []
            }
            return trigger.paths.filter { path.isAtOrBelow($0) }
        }
    }

    /// Microseconds: a file system that hangs keeps nobody waiting for longer.
    private static let patience: Int64 = 2_000_000

    /// Calls `done` once, on the core.
    func lookBeside(at path: [UInt8], _ done: @escaping (PathLookBeside) -> Void) {
        let (answer, looksForWriters) = (QueueBound(OnlyOnce(done), to: core), isToldWhenWritten(path))
        let (following, ownPaths) = (rootsThatFollowLinks(above: path), ownPaths)
        core.after(Int(Self.patience)) { answer.value.give(PathLookBeside()) }
        slow.submit("a look at a path that is explained") { [core] in
            var look = PathLookBeside()
            look.links = path.foldersAbove.filter { (try? Linux.lstat($0))?.kind == .symbolicLink }
            for root in following {
                look.refusedLinks[root] = RefusedLink(among: look.links, below: root, ownPaths: ownPaths)
            }
            look.isFolder = (try? Linux.lstat(path))?.kind == .folder
            look.isMountedFile = !look.isFolder && Linux.isMountPoint(path)
            if looksForWriters {
                look.writers = FileWriters(path, until: Linux.now(.monotonic) + Self.patience / 2).sentence
            }
            core.async { [look] in answer.value.give(look) }
        }
    }
}

/// Somebody who waits for one answer.
private final class OnlyOnce {
    private var done: ((PathLookBeside) -> Void)?

    init(_ done: @escaping (PathLookBeside) -> Void) { self.done = done }

    func give(_ look: PathLookBeside) {
        done?(look)
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
