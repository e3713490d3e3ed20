import WatchFile

/// The net effect of several changes of one path while an operation waits (Semantics.md, "Net effect").
///
/// A handler compares with what it last saw, so only the difference to that state counts: created and deleted again is
/// nothing, an editor's save (create a temporary file, rename it over the old one) is `written`. Of every path the
/// result tells truly whether something stood there before and whether something stands there now. `Events=` chooses
/// from the results.
enum NetEffect {
    /// A change of a path, not a rename, on top of the one that waits there. Empty: together they are nothing.
    ///
    /// Two results where a rename had replaced what stood at the path: its old path and the path are then both empty.
    static func of(_ older: PathFact, _ newer: PathFact) -> [PathFact] {
        var result = newer
        result.isRecovered = older.isRecovered || newer.isRecovered
        result.handover = newer.handover ?? older.handover
        guard newer.change != .deleted else { return deleted(older, result) }
        if older.change == .deleted, older.isFolder != newer.isFolder { return [replacing(older, result)] }
        result.isNew = older.isNew
        switch (older.change, newer.change) {
        case (.created, _):
            result.change = .created
        case (.deleted, .created), (.written, .created), (.written, .modified), (.written, .attributes):
            result.change = .written
        case (.modified, .attributes):
            result.change = .modified
        case (.renamed, _):
            result.change = .renamed
            result.oldPath = older.oldPath
            result.hasReplaced = older.hasReplaced
        case (.deleted, _), (.written, _), (.modified, _), (.attributes, _):
            break
        }
        return [result]
    }

    /// A folder where a file stood, or the other way round: the file is news, as the folder's files are by themselves.
    private static func replacing(_ deletion: PathFact, _ newer: PathFact) -> PathFact {
        var result = newer
        result.isNew = newer.change != .created
        return newer.isFolder ? deletion : result
    }

    private static func deleted(_ older: PathFact, _ deletion: PathFact) -> [PathFact] {
        if older.isNewThing { return [] }
        guard older.change == .renamed, let oldPath = older.oldPath else { return [deletion] }
        var origin = deletion
        origin.path = oldPath
        return older.hasReplaced ? [origin, deletion] : [origin]
    }

    /// A rename, where `moved` waits at its old path. `emptied`: a path where something stood that nothing tells of
    /// any more.
    static func of(_ moved: PathFact, rename: PathFact) -> (result: PathFact, emptied: PathFact?) {
        var result = rename
        result.isRecovered = moved.isRecovered || rename.isRecovered
        if moved.isNewThing { return (written(result), nil) }
        guard moved.change == .renamed, let origin = moved.oldPath else { return (result, nil) }
        let emptied = moved.hasReplaced ? PathFact(.deleted, path: moved.path, root: moved.root) : nil
        if origin == rename.path {
            result.hasReplaced = true
            return (written(result), emptied)
        }
        result.oldPath = origin
        return (result, emptied)
    }

    /// A rename of something the handler does not know at its old path: for the handler it is written at the new one.
    static func written(_ rename: PathFact) -> PathFact {
        var result = rename
        result.change = rename.isFolder ? .created : .written
        result.oldPath = nil
        result.hasReplaced = false
        result.isNew = !rename.hasReplaced && !rename.isFolder
        return result
    }

    /// The rest of a waiting change at a path that a rename has now put something else on: whether something stood
    /// there before, and the path that is empty since.
    static func replaced(_ overwritten: PathFact) -> (hasReplaced: Bool, emptied: PathFact?) {
        if overwritten.isNewThing { return (false, nil) }
        guard overwritten.change == .renamed, let oldPath = overwritten.oldPath else { return (true, nil) }
        let emptied = PathFact(.deleted, path: oldPath, root: overwritten.root, isFolder: overwritten.isFolder)
        return (overwritten.hasReplaced, emptied)
    }

    /// A change at a path of which it turns out that something else stood there before.
    static func known(_ waiting: PathFact) -> PathFact {
        var result = waiting
        result.isNew = false
        if waiting.change == .created { result.change = .written }
        if waiting.change == .renamed { result.hasReplaced = true }
        return result
    }

    /// A net effect as `Events=` has it told; `nil`: not at all.
    static func chosen(_ result: PathFact, by events: PathEvents) -> PathFact? {
        if result.isFolder { return chosenOfFolder(result, by: events) }
        if events.contains(PathEvents(result.change)) { return result }
        var told = result
        switch result.change {
        case .renamed where events.contains(.written): return written(result)
        case .created where events.contains(.written):
            (told.change, told.isNew) = (.written, true)
            return told
        case .written where events.contains(.modified):
            told.change = .modified
            return told
        case .created, .written, .modified, .attributes, .deleted, .renamed: return nil
        }
    }

    /// A folder that went and came again is as it was.
    private static func chosenOfFolder(_ result: PathFact, by events: PathEvents) -> PathFact? {
        guard result.change != .written, result.change != .modified else { return nil }
        if events.contains(PathEvents(result.change)) { return result }
        return result.change == .renamed && events.contains(.created) ? written(result) : nil
    }
}

extension PathFact {
    /// The thing at the path was not there when the operation began to wait.
    fileprivate var isNewThing: Bool { isNew || change == .created }
}
