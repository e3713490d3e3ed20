import LinuxSystem

/// Counts the files that were made and written where a log stands against those that were opened, so that one that went
/// before that is not lost in silence. In doubt it counts one less: a file may have been moved there, or have come
/// back. Confined to its context.
struct TailArrivals {
    /// Files that were told to have come less those that were taken: what is read may be ahead of what is told.
    private var balance = 0
    /// The newest file that was made there has not been seen to be written.
    private var isNewEmpty = false

    /// Something happened to the entry of the log in its folder.
    ///
    /// - Parameters:
    ///   - position: of the file that is open.
    ///   - current: what stands there now, if nothing has happened there since.
    mutating func note(_ change: FolderEvent.Change, _ position: TailPosition?, current: () -> FileStatus?) {
        switch change {
        // The one that is open may get its name back.
        case .created: isNewEmpty = current().map { position?.isOf($0) == true } != true
        case .modified where isNewEmpty:
            // One that is truncated when it is opened has nothing in it.
            isNewEmpty = current()?.size == 0
            if !isNewEmpty { balance += 1 }
        // An entry that was moved there, or back there, may be known.
        case .movedIn, .movedOut, .renamed, .deleted: isNewEmpty = false
        case .modified, .closedAfterWriting, .attributes, .selfChanged, .overflowed: break
        }
    }

    /// Another file with something in it is open, or known to be lost.
    mutating func took(_ count: Int = 1) { balance -= count }

    /// Some of what happened may never be told.
    mutating func losesSight() { balance = min(balance, 0) }

    /// The file at the path is open: whatever came before it and was not taken has gone.
    mutating func lost() -> Int {
        defer { balance = min(balance, 0) }
        return max(balance, 0)
    }

    /// Files came that were not taken.
    var isBehind: Bool { balance > 0 }

    /// Files were taken that nobody was told of, or will be.
    var isAhead: Bool { balance < 0 }

    /// The same, and everything that has happened was told.
    mutating func settle() { (balance, isNewEmpty) = (max(balance, 0), false) }
}
