import LinuxSystem

/// Folders that are compared again and again: those that cannot be watched or read, those where the kernel does not
/// tell of every change, and all of them with `Poll=yes`.
///
/// A round looks at the root beside the core, and then scans: a file system that hangs holds up its source alone.
extension TreeRoot {
    /// Why a folder has no watch, or is not seen whole.
    struct Blindness {
        var error: SystemError
        /// The entry that cannot be looked at; `nil`: it is the folder.
        var entry: [UInt8]?

        var leavesUnwatched: Bool { entry == nil && error.leavesUnwatched }
    }

    /// Microseconds to the first look at folders that cannot be watched or read; later pauses double.
    static let firstPoll = 1_000_000

    /// Microseconds between two looks.
    var longestPoll: Int { owner.pollInterval }

    /// - Parameter entry: in the folder, which alone cannot be looked at.
    func cannotSee(_ folder: FileTree.ID, _ error: SystemError, entry: [UInt8]? = nil) {
        blind[tree.reference(folder)] = Blindness(error: error, entry: entry)
        planPoll()
    }

    func sees(_ folder: FileTree.ID) { if !blind.isEmpty { blind[tree.reference(folder)] = nil } }

    /// The part of it without a watch, or unread: a sentence.
    var trouble: String? {
        if let anchorFailure {
            return
                "what becomes of \(path.printable) itself is compared every \(owner.pollSpan): \(anchorFailure.reason)"
        }
        guard let (reference, blindness) = blind.min(by: { $0.key.id < $1.key.id }) else { return nil }
        return sentence(blindness, place(reference, blindness.entry, of: blind.count))
    }

    /// Where the kernel does not tell of every change: a sentence.
    var silence: String? {
        guard !owner.polls, let (reference, name) = silent.min(by: { $0.key.id < $1.key.id }) else { return nil }
        return sentence(silent: name, place(reference, of: silent.count))
    }

    func limit(at path: [UInt8]) -> String? {
        if anchorFailure != nil, path == self.path { return trouble }
        if owner.polls || blind.isEmpty && silent.isEmpty { return nil }
        let isWhole = self.path.count == 1
        let folders = path.foldersAbove.reversed().prefix { isWhole || $0.isAtOrBelow(self.path) }
        let known = folders.compactMap { tree.node(at: $0.below(self.path)) }.map(tree.reference)
        // A folder without a watch says nothing of what is in the folders below it.
        if let folder = known.first, let blindness = blind[folder] {
            let place = self.place(folder, blindness.entry, of: 1)
            if blindness.entry == nil || path.printable == place { return sentence(blindness, place) }
        }
        return known.lazy.compactMap { [self] folder in
            silent[folder].map { sentence(silent: $0, place(folder, of: 1)) }
        }.first
    }

    private func sentence(_ blindness: Blindness, _ place: String) -> String {
        blindness.leavesUnwatched
            ? "\(place) compared every \(owner.pollSpan): \(blindness.error.reason)"
            : "\(place) cannot be read, tried again every \(owner.pollSpan): \(blindness.error.errno)"
    }

    private func sentence(silent name: String, _ place: String) -> String {
        "\(place) compared every \(owner.pollSpan): on \(name) the kernel does not tell of every change"
    }

    private func place(_ reference: FileTree.Reference, _ entry: [UInt8]? = nil, of count: Int) -> String {
        let others = count > 1 ? " and \(count - 1) more" : ""
        return (tree.id(reference).map { joined(fullPath($0), entry ?? []) } ?? path).printable + others
    }

    /// Only the topmost folder of a file system is kept.
    func noteFileSystem(of folder: FileTree.ID, _ type: FileSystemType?) {
        let reference = tree.reference(folder)
        guard let name = type?.silentName, !owner.polls else {
            if !silent.isEmpty { silent[reference] = nil }
            return
        }
        var above = folder
        while above != tree.root, above != FileTree.holder {
            above = tree.parent(of: above)
            if silent[tree.reference(above)] == name { return }
        }
        silent[reference] = name
    }

    // MARK: Rounds

    func planPoll() {
        guard owner.polls || !blind.isEmpty || !silent.isEmpty || anchorFailure != nil || hasLinksToPoll else {
            pollDelay = Self.firstPoll
            return
        }
        if blind.isEmpty, anchorFailure == nil { pollDelay = longestPoll }
        guard !isPollPlanned, !isOver else { return }
        isPollPlanned = true
        hub.after(min(pollDelay, longestPoll)) { [weak self] in
            self?.isPollPlanned = false
            self?.poll()
        }
        pollDelay = min(2 * pollDelay, longestPoll)
    }

    func poll() {
        guard !isOver, !isPolling else { return }
        isPolling = true
        owner.beside { [path] () throws(SystemError) in
            try Self.rootStatus(path)
        } then: { [weak self] result in
            self?.polled(result)
        }
    }

    private func polled(_ result: Swift.Result<FileStatus?, SystemError>) {
        isPolling = false
        guard !isOver else { return }
        defer { planPoll() }
        if owner.isHeld, hasBegun {
            isRootDirty = true
            for folder in folders(toPoll: result) { _ = leavesForLater(folder) }
            return
        }
        if anchorFailure != nil { armAnchor() }
        take(result)
        for folder in folders(toPoll: result) {
            enqueue(folder, hasBegun ? [.isDeep, .isCompared] : [.isDeep, .isSilent])
        }
        pollLinks()
        for folder in blind.keys { if let id = tree.id(folder) { enqueue(id, [.isCompared]) } }
        pump()
        owner.rootChanged()
    }

    /// Each with everything below it.
    private func folders(toPoll result: Swift.Result<FileStatus?, SystemError>) -> [FileTree.ID] {
        guard case .success = result else { return [] }
        if owner.polls { return tree.root.map { tree.isFolder($0) ? [$0] : [] } ?? [] }
        return silent.keys.compactMap { tree.id($0) }
    }
}
