import WatchFile

/// The net effect of several changes of one path while an operation waits (Semantics.md, "Net effect").
///
/// A handler compares with what it last saw, so only the difference to that state counts: created and deleted again is
/// nothing, an editor's save (create a temporary file, rename it over the old one) is `written`. Of every path the
/// result tells truly what stood there before (nothing, a file, a folder), and whether something stands there now.
/// `Events=` chooses from the results.
enum NetEffect {
    /// A change of a path, not a rename, on top of the one that waits there. Empty: together they are nothing.
    ///
    /// Two results where what a rename has put at the path is gone: the rename's old path is empty too.
    static func of(_ older: PathFact, _ newer: PathFact) -> [PathFact] {
        var result = newer
        result.isRecovered = older.isRecovered || newer.isRecovered
        result.isUntold = false
        result.handover = newer.handover ?? older.handover
        let isGone = newer.change == .deleted || newer.kind != older.kind
        if older.change == .renamed, let oldPath = older.oldPath {
            guard isGone else {
                (result.change, result.oldPath) = (.renamed, oldPath)
                return [result.after(older.stood)].compactMap(\.self)
            }
            var origin = PathFact(.deleted, path: oldPath, root: older.root, isFolder: older.isFolder)
            (origin.isRecovered, origin.handover) = (result.isRecovered, result.handover)
            return [origin, result.after(older.stood)].compactMap(\.self)
        }
        if !isGone { result.change = sum(older.change, newer.change) }
        return [result.after(older.stood)].compactMap(\.self)
    }

    /// The sum of two changes of the same thing.
    private static func sum(_ older: PathChange, _ newer: PathChange) -> PathChange {
        switch (older, newer) {
        case (.created, _): .created
        case (.written, _): .written
        case (.modified, .attributes): .modified
        case (.deleted, _), (.modified, _), (.attributes, _), (.renamed, _): newer
        }
    }

    /// A rename, where `moved` waits at its old path. `emptied`: a path where something stood that nothing tells of
    /// any more.
    static func of(_ moved: PathFact, rename: PathFact) -> (result: PathFact, emptied: PathFact?) {
        var result = rename
        result.isRecovered = moved.isRecovered || rename.isRecovered
        let before = moved.stood
        let emptied = PathFact(.deleted, path: moved.path, root: moved.root).after(before)
        guard moved.change == .renamed, let origin = moved.oldPath else {
            // The rename tells of the end of what stood there, if that may be what has moved.
            return before == rename.kind ? (result, nil) : (written(result), emptied)
        }
        guard origin != rename.path else {
            // It is back where it stood before. Whatever it has replaced there has come meanwhile.
            result.before = moved.kind
            return (written(result), emptied)
        }
        result.oldPath = origin
        return (result, emptied)
    }

    /// A rename of something the handler does not know at its old path: for the handler it is written at the new one.
    static func written(_ rename: PathFact) -> PathFact {
        var result = rename
        (result.change, result.oldPath, result.hasReplaced) = (.written, nil, false)
        return result.standing(after: rename.stood)
    }

    /// A rename that has put something else on the path of a waiting change. `emptied`: as in `of(_:rename:)`.
    static func replaced(_ overwritten: PathFact, by rename: PathFact) -> (rename: PathFact, emptied: PathFact?) {
        let result = rename.standing(after: overwritten.stood)
        guard overwritten.change == .renamed, let oldPath = overwritten.oldPath else { return (result, nil) }
        return (result, PathFact(.deleted, path: oldPath, root: overwritten.root, isFolder: overwritten.isFolder))
    }

    /// A net effect as `Events=` has it told; `nil`: not at all.
    static func chosen(_ result: PathFact, by events: PathEvents) -> PathFact? {
        // A folder in the place of another one is no news; what is below them is told by itself.
        if result.isFolder, result.change == .written || result.change == .modified { return nil }
        if events.contains(PathEvents(result.change)) { return result }
        var told = result
        switch result.change {
        case .renamed where events.contains(result.isFolder ? .created : .written):
            return chosen(written(result), by: events)
        case .created where events.contains(.written) && !result.isFolder:
            (told.change, told.before) = (.written, result.stood)
            return told
        case .written where events.contains(.modified):
            told.change = .modified
            return told
        case .created, .written, .modified, .attributes, .deleted, .renamed:
            return endOfOther(result, events)
        }
    }

    /// A handler that does not ask for the new thing may ask for the end of the one of another kind before it.
    private static func endOfOther(_ result: PathFact, _ events: PathEvents) -> PathFact? {
        let isOther = result.stood != .nothing && result.stood != result.kind
        guard isOther, events.contains(.deleted) else { return nil }
        var told = result
        (told.change, told.oldPath, told.hasReplaced) = (.deleted, nil, false)
        return told.after(result.stood)
    }
}

extension PathFact {
    /// The thing that stood at the path before, as far as no rename tells of it.
    var stood: Before { before ?? impliedBefore }

    private var impliedBefore: Before {
        let isThere = change == .renamed ? hasReplaced : change != .created
        return isThere ? kind : .nothing
    }

    /// The kind of the thing that it tells of.
    var kind: Before { isFolder ? .folder : .file }

    /// The fact, where this stood at the path before; `nil`: nothing is told, as it was empty and is empty again.
    func after(_ before: Before) -> PathFact? {
        guard change == .deleted else { return standing(after: before) }
        guard before != .nothing else { return nil }
        var result = self
        (result.isFolder, result.before) = (before == .folder, nil)
        return result
    }

    /// The fact of a thing that stands at the path.
    func standing(after before: Before) -> PathFact {
        var result = self
        let isOther = before != kind && before != .nothing
        switch change {
        case .renamed: result.hasReplaced = before != .nothing
        case .created: if before == kind { result.change = .written }
        // A thing in the place of one of another kind is all new; of a folder that is `created`.
        case .written where isFolder: if before != kind { result.change = .created }
        case .modified, .attributes: if isOther { result.change = isFolder ? .created : .written }
        case .written, .deleted: break
        }
        result.before = result.impliedBefore == before ? nil : before
        return result
    }
}
