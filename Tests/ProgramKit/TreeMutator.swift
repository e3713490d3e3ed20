import LinuxSystem
import SeedKit

/// Changes a tree of files at random, and remembers which paths it has touched.
///
/// Several may change the same tree at once, each in a thread of its own.
package struct TreeMutator: Sendable {
    private var random: SeededGenerator
    private let folder: Folder
    /// Below `in`: whatever may have changed, with all that stands below it.
    package private(set) var touched: Set<String> = []
    /// Inodes that have or had several names: what happens to one name changes the time of the inode, which a
    /// comparison takes for a change of the content at the others.
    package private(set) var linked: Set<UInt64> = []
    /// What it has done: the microsecond of the wall clock, and a sentence.
    package private(set) var journal: [(time: Int64, text: String)] = []
    private var count = 0
    /// No two give a file the same mode: a change of the inode's time alone counts as one of the content.
    private let number: Int
    private let of: Int
    /// Symbolic links lead to what is there, too, and are switched.
    private let makesLinks: Bool

    /// - Parameter number: of several in the same tree, this is which one.
    package init(_ folder: Folder, seed: UInt64, number: Int = 0, of: Int = 1, makesLinks: Bool = false) {
        self.folder = folder
        (self.number, self.of, self.makesLinks) = (number, of, makesLinks)
        random = SeededGenerator(seed: seed)
    }

    package mutating func beginRound() {
        touched = []
        note("a round begins")
    }

    /// Everything that was done in the last two rounds, and a trail of what was seen of that, by time.
    package func story(with trail: [(time: Int64, text: String)]) -> String {
        let starts = journal.filter { $0.text == "a round begins" }
        let begin = starts.dropLast().last?.time ?? 0
        let all = (journal + trail.map { ($0.time, "    \($0.text)") }).filter { $0.time >= begin }
        return all.sorted { $0.time < $1.time }.map { "\($0.time % 1_000_000_000) \($0.text)" }.joined(separator: "\n")
    }

    /// Everything in the tree, below `in`; folders end with a slash.
    package func paths(_ top: String = "in") -> [String] {
        var (found, rest) = ([String](), [""])
        while let next = rest.popLast() {
            for entry in (try? Linux.readFolder(folder["\(top)/\(next)"])) ?? [] {
                let path = next + String(decoding: entry.name, as: UTF8.self)
                if path.hasPrefix("last") { continue }
                found.append(entry.kind == .folder ? path + "/" : path)
                if entry.kind == .folder { rest.append(path + "/") }
            }
        }
        return found.sorted()
    }

    private mutating func touch(_ path: String) {
        touched.insert(path)
        guard path.hasSuffix("/") else { return }
        for below in paths() where below.hasPrefix(path) { touched.insert(below) }
    }

    /// One change; errors are those of the moment.
    ///
    /// - Parameter name: of a folder directly below `in` that stays as it is.
    package mutating func step(besides name: String? = nil) {
        let all = paths().filter { path in name.map { !path.hasPrefix($0 + "/") } ?? true }
        let folders = [""] + all.filter { $0.hasSuffix("/") }
        let files = all.filter { !$0.hasSuffix("/") }
        let place = random.pick(folders) + random.pick(["a", "b", "c", "aa", "ab", "d1", "d2"])
        if makesLinks, random.chance(30) { return linkStep(folders, files, place) }
        switch random.upTo(13) {
        case 0, 1, 2: write(place)
        case 3 where !files.isEmpty: write(random.pick(files))
        case 4 where !files.isEmpty: rename(random.pick(files), place)
        case 5, 6:
            guard folders.count > 1 else { return makeFolder(place) }
            rename(random.pick(Array(folders.dropFirst())), place + "/")
        case 7, 8: makeFolder(place)
        case 9 where !files.isEmpty:
            let file = random.pick(files)
            touch(file)
            note("unlink \(file)")
            try? Linux.unlink(folder["in/\(file)"])
        case 10 where folders.count > 1:
            let gone = random.pick(Array(folders.dropFirst()))
            touch(gone)
            note("remove \(gone)")
            removeTree("in/\(gone)")
        case 11: moveOutOrIn(folders, place)
        case 12 where !all.isEmpty: changeMode(random.pick(all))
        case 13: linkNowhere(place)
        default: link(files, place)
        }
    }

    private mutating func write(_ path: String) {
        // What is written by another name of a file is not reported.
        if let status = try? Linux.lstat(folder["in/\(path)"]) {
            if status.links > 1 || (makesLinks && status.kind == .symbolicLink) { return }
        }
        touch(path)
        count += 1
        note("write \(path)")
        try? folder.append("in/\(path)", "\(count)")
    }

    private mutating func note(_ text: String) { journal.append((Linux.now(.realtime), text)) }

    /// No news.
    private mutating func changeMode(_ path: String) {
        count += 1
        note("chmod \(path)")
        let mode = UInt32(count * of + number) % 64
        try? Linux.chmod(folder["in/\(path)"].trimmed, 0o700 | mode)
    }

    /// What is written through it comes nowhere.
    private mutating func linkNowhere(_ place: String) {
        touch(place)
        note("symlink \(place)")
        try? Linux.symlink(folder["in/\(place)"], to: "/nowhere/at/all")
    }

    /// A link is made or switched, or something changes beside the tree, where links lead.
    private mutating func linkStep(_ folders: [String], _ files: [String], _ place: String) {
        let name = random.pick(["a", "b", "d", "d/a", "d/b"])
        switch random.upTo(6) {
        case 0: outside("write \(name)") { try $0.append(name, "x") }
        case 1: outside("remove \(name)") { try Linux.unlink($0[name]) }
        case 2: outside("make d") { try Linux.mkdir($0["d"], mode: 0o755) }
        case 3: outside("rename d") { try Linux.rename($0["d"], to: $0["e"]) }
        default: leadSomewhere(folders, files, place)
        }
    }

    private mutating func outside(_ text: String, _ work: (Folder) throws -> Void) {
        note("beside the tree: \(text)")
        try? work(Folder(path: folder["out/shared"]))
    }

    private mutating func leadSomewhere(_ folders: [String], _ files: [String], _ place: String) {
        let name = files.isEmpty || random.chance(50) ? place : random.pick(files)
        let beside = ["out/shared", "out/shared/a", "out/shared/d", "out/shared/d/b", "out/shared/e"]
        let inside = folders.map { "in/\($0)".trimmed } + files.map { "in/\($0)" } + ["in/\(place)"]
        let target = folder[random.chance(40) ? random.pick(beside) : random.pick(inside)]
        touch(name)
        note("lead \(name) to \(target)")
        let new = folder["out/link"]
        try? Linux.symlink(new, to: target)
        do { try Linux.rename(new, to: folder["in/\(name)"]) } catch { try? Linux.unlink(new) }
    }

    private mutating func makeFolder(_ path: String) {
        touch(path + "/")
        note("mkdir \(path)")
        try? Linux.mkdir(folder["in/\(path)"], mode: 0o755)
    }

    private mutating func rename(_ old: String, _ new: String) {
        touch(old)
        touch(new)
        note("rename \(old) > \(new)")
        let (from, to) = (folder["in/\(old)"].trimmed, folder["in/\(new)"].trimmed)
        try? Linux.rename(from, to: to)
        touch(new)
    }

    private mutating func link(_ files: [String], _ place: String) {
        guard !files.isEmpty else { return }
        let file = random.pick(files)
        touch(file)
        touch(place)
        note("link \(file) = \(place)")
        if let status = try? Linux.lstat(folder["in/\(file)"]) { linked.insert(status.inode) }
        try? Linux.link(folder["in/\(file)"], to: folder["in/\(place)"])
    }

    private mutating func moveOutOrIn(_ folders: [String], _ place: String) {
        let out = folder["out/tree"]
        if folder.exists("out/tree") {
            touch(place + "/")
            note("move in \(place)")
            do { try Linux.rename(out, to: folder["in/\(place)"]) } catch { removeTree("out/tree") }
            touch(place + "/")
        } else if folders.count > 1 {
            let gone = random.pick(Array(folders.dropFirst()))
            touch(gone)
            note("move out \(gone)")
            try? Linux.rename(folder["in/\(gone)"].trimmed, to: out)
        }
    }

    private func removeTree(_ top: String) {
        let top = top.trimmed
        for path in paths(top).reversed() {
            let full = folder["\(top)/\(path)"].trimmed
            if path.hasSuffix("/") { try? Linux.rmdir(full) } else { try? Linux.unlink(full) }
        }
        try? Linux.rmdir(folder[top])
    }
}

extension String {
    fileprivate var trimmed: String { hasSuffix("/") ? String(dropLast()) : self }
}
