import LinuxSystem
package import WatchFile

/// `IgnoreFile=`: git's rules, read again when they change.
///
/// A listing brings the ignore file of its folder, before anything of the folder is taken in. One that is reported is
/// read at once, so that each later report is judged by it. What was ignored before is no news when it is ignored no
/// more, but for changes after that.
extension TreeRoot {
    /// Nanoseconds before now, for the change of an ignore file of which nobody knows when it was made.
    private static let doubt: Int64 = 2_000_000_000
    /// Nanoseconds by which the time of a change may be behind the clock.
    private static let tick: Int64 = 20_000_000

    /// - Parameter isWhole: the folders that the path goes through may be ignored.
    func ignores(_ path: [UInt8], isFolder: Bool, isWhole: Bool = false) -> Bool {
        guard ignoring?.rules.isEmpty == false else { return false }
        return ignoring?.ignores(path.below(self.path), isFolder: isFolder, isWhole: isWhole) ?? false
    }

    /// Whether a folder that a path goes through is ignored.
    func ignores(anyOf path: [UInt8]) -> Bool { ignoring?.rules.ignoredFolder(of: path.below(self.path)) != nil }

    /// The pattern that makes a path ignored; `nil`: it is not.
    func ignored(_ path: [UInt8]) -> IgnoredPath? {
        guard let rules = ignoring?.rules, !rules.isEmpty else { return nil }
        let below = path.below(self.path)
        let isFolder =
            tree.node(at: below).map(tree.isFolder)
            // Where nothing is watched it may hang.
            ?? (owner.polls ? false : (try? Linux.statusOfAny(path))?.kind == .folder)
        guard let (top, ruling) = rules.firstRuling(on: below, isFolder: isFolder), ruling.isIgnored,
            let pattern = ruling.pattern
        else { return nil }
        return IgnoredPath(
            path: joined(self.path, top), file: joined(joined(self.path, ruling.folder), rules.name), pattern: pattern)
    }

    /// `IgnoreFile=` may be another one.
    ///
    /// - Returns: true: everything is to be listed again.
    func setIgnoreFile(_ name: [UInt8]?) -> Bool {
        guard name != ignoring?.rules.name else { return false }
        let old = ignoring?.rules
        // What the former one has ignored is no news.
        oldIgnoring = oldIgnoring ?? old
        ignoring = name.map(TreeIgnoring.init)
        return true
    }

    /// Something was reported of a name.
    func noteIgnoreFile(_ name: [UInt8], in folder: FileTree.ID) {
        guard let own = ignoring?.rules.name, name == own, folder != FileTree.holder else { return }
        readIgnoreFile(of: folder)
    }

    /// A report about it came while the scan went on, which may have read an older one.
    func isIgnoreFileTouched(_ folder: FileTree.ID) -> Bool {
        ignoring.map { isTouched(folder, $0.rules.name) } ?? false
    }

    private func readIgnoreFile(of folder: FileTree.ID) {
        guard let name = ignoring?.rules.name else { return }
        let reading: IgnoreReading
        do throws(SystemError) {
            reading = try Linux.openFolder(fullPath(folder), follows: folder == tree.root || isLink(folder)).use {
                IgnoreReading(name, in: $0)
            }
        } catch {
            reading = error.isOfNothing ? .missing : .failed("\(error.errno)")
        }
        take(reading, of: folder, isListed: false)
    }

    /// - Parameter isListed: everything below is being listed.
    func take(_ reading: IgnoreReading, of folder: FileTree.ID, isListed: Bool) {
        defer { planIgnoreRetry() }
        let place = tree.path(of: folder)
        let wasKnown = ignoring?.rules[place] != nil
        guard ignoring?.take(reading, of: place) == true else { return }
        // The first listing of a folder shows the beginning, and no change of its ignore file.
        if hasBegun, wasKnown || !isListed {
            let changed =
                if case .file(_, let changed) = reading { changed } else { Linux.now(.realtime) * 1000 - Self.doubt }
            let since = min(ignoring?.since ?? .max, changed)
            ignoring?.since = since
        }
        dropLeftOut(below: folder)
        if hasBegun, !isListed { enqueue(folder, [.isDeep, .isCompared]) }
    }

    /// Folders that are left out from now on are forgotten.
    func dropLeftOut(below folder: FileTree.ID) {
        for reference in tree.below(folder).filter(tree.isFolder).map(tree.reference) {
            guard let id = tree.id(reference), tree.isFolder(id), isLeftOut(fullPath(id)) else { continue }
            removeTree(id, isTold: false)
        }
    }

    /// Whether what a listing shows was left out before, and has not changed since.
    func wasIgnored(_ entry: TreeScan.Entry, in folder: FileTree.ID) -> Bool {
        guard entry.status.kind == .folder, oldIgnoring != nil || ignoring?.before != nil else { return false }
        let below = fullPath(folder, entry.name).below(path)
        return oldIgnoring?.ignores(below, isFolder: true) ?? false
            || ignoring?.before?.ignores(below, isFolder: true) ?? false
    }

    /// Whether it was changed when it was left out no more, though it stands in a folder that was.
    func hasChangedSince(_ status: FileStatus) -> Bool {
        guard hasBegun, status.kind != .folder else { return false }
        return [ignoring?.since, letInSince].contains { $0.map { status.changed >= $0 } ?? false }
    }

    /// The watch file lets in more from now on.
    func noteLetIn() { letInSince = letInSince ?? Linux.now(.realtime) * 1000 - Self.tick }

    /// Everything is listed once more.
    func forgetFormerIgnoring() {
        oldIgnoring = nil
        ignoring?.forgetBefore()
    }

    // MARK: Folders that move

    /// Before what is told of the move.
    func ignoreFilesMove(_ folder: [UInt8], to other: [UInt8]) {
        guard ignoring?.rules.isEmpty == false else { return }
        ignoring?.rules.copy(folder.below(path), to: other.below(path))
    }

    /// Nothing stands there any more.
    func ignoreFilesGone(below folder: [UInt8]) {
        if ignoring != nil { ignoring?.remove(below: folder.below(path)) }
    }

    func ignoreFilesExchange(_ one: [UInt8], _ other: [UInt8]) {
        ignoring?.rules.exchange(one.below(path), other.below(path))
    }

    // MARK: Ignore files that are not applied

    /// A sentence.
    var ignoreTrouble: String? {
        guard let ignoring, let (folder, reason, count) = ignoring.trouble else { return nil }
        let others = count > 1 ? " and \(count - 1) more" : ""
        let file = joined(joined(path, folder), ignoring.rules.name).printable
        return "\(file)\(others) not applied: \(reason)"
    }

    /// What can be read later is read then.
    private func planIgnoreRetry() {
        guard let ignoring, !ignoring.failures.isEmpty, !ignoring.isRetryPlanned else { return }
        self.ignoring?.isRetryPlanned = true
        hub.after(owner.pollInterval) { [weak self] in
            guard let self, !isOver, let failures = self.ignoring?.failures else { return }
            self.ignoring?.isRetryPlanned = false
            if owner.polls || owner.isHeld { return planIgnoreRetry() }
            for folder in failures.keys {
                if let id = tree.node(at: folder), tree.isFolder(id) { readIgnoreFile(of: id) }
            }
            pump()
        }
    }
}

/// A path that an ignore file keeps back.
package struct IgnoredPath {
    /// What the pattern is about: the path, or a folder above it.
    package let path: [UInt8]
    package let file: [UInt8]
    package let pattern: IgnorePattern
}
