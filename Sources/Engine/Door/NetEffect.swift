/// What several changes of one path amount to while an operation waits (SEMANTICS, "Net effect").
///
/// A handler compares with what it last saw, so only the difference to that state counts: created and deleted again is
/// nothing, an editor's save (create a temporary file, rename it over the old one) is `written`. Of every path the
/// result tells truly whether something stood there before and whether something stands there now.
enum NetEffect {
    /// A change that waits.
    struct Waiting {
        var fact: PathFact
        /// Nothing stood at the path before, although the change is not told as `created`.
        var isNew = false

        /// The thing at the path was not there when the operation began to wait.
        var isNewThing: Bool { isNew || fact.change == .created }
    }

    /// A change of a path, not a rename, on top of the one that waits there. Empty: together they are nothing.
    ///
    /// Two results where a rename had replaced what stood at the path: its old path and the path are then both empty.
    static func of(_ older: Waiting, _ newer: PathFact) -> [Waiting] {
        var result = newer
        result.isRecovered = older.fact.isRecovered || newer.isRecovered
        guard newer.change != .deleted else { return deleted(older, result) }
        switch (older.fact.change, newer.change) {
        case (.created, _):
            result.change = .created
        case (.deleted, .created), (.written, .created), (.written, .modified), (.written, .attributes):
            result.change = .written
        case (.modified, .attributes):
            result.change = .modified
        case (.renamed, _):
            result.change = .renamed
            result.oldPath = older.fact.oldPath
            result.hasReplaced = older.fact.hasReplaced
        case (.deleted, _), (.written, _), (.modified, _), (.attributes, _):
            break
        }
        return [Waiting(fact: result, isNew: older.isNew)]
    }

    private static func deleted(_ older: Waiting, _ deletion: PathFact) -> [Waiting] {
        if older.isNewThing { return [] }
        guard older.fact.change == .renamed, let oldPath = older.fact.oldPath else { return [Waiting(fact: deletion)] }
        var origin = deletion
        origin.path = oldPath
        return older.fact.hasReplaced ? [Waiting(fact: origin), Waiting(fact: deletion)] : [Waiting(fact: origin)]
    }

    /// A rename, where `moved` waits at its old path. `emptied`: a path where something stood that nothing tells of
    /// any more.
    static func of(_ moved: Waiting, rename: PathFact) -> (result: Waiting, emptied: PathFact?) {
        var result = rename
        result.isRecovered = moved.fact.isRecovered || rename.isRecovered
        if moved.isNewThing { return (written(result), nil) }
        guard moved.fact.change == .renamed, let origin = moved.fact.oldPath else {
            return (Waiting(fact: result), nil)
        }
        let emptied = moved.fact.hasReplaced ? PathFact(.deleted, path: moved.fact.path, root: moved.fact.root) : nil
        if origin == rename.path {
            result.hasReplaced = true
            return (written(result), emptied)
        }
        result.oldPath = origin
        return (Waiting(fact: result), emptied)
    }

    /// A rename of something the handler does not know at its old path: for the handler it is written at the new one.
    static func written(_ rename: PathFact) -> Waiting {
        var result = rename
        result.change = .written
        result.oldPath = nil
        result.hasReplaced = false
        return Waiting(fact: result, isNew: !rename.hasReplaced)
    }

    /// What is left of a change waiting at the path that a rename has now put something else on: whether something
    /// stood there before, and the path that is empty since.
    static func replaced(_ overwritten: Waiting) -> (hasReplaced: Bool, emptied: PathFact?) {
        if overwritten.isNewThing { return (false, nil) }
        guard overwritten.fact.change == .renamed, let oldPath = overwritten.fact.oldPath else { return (true, nil) }
        return (overwritten.fact.hasReplaced, PathFact(.deleted, path: oldPath, root: overwritten.fact.root))
    }

    /// A change at a path of which it turns out that something else stood there before.
    static func known(_ waiting: Waiting) -> Waiting {
        var result = Waiting(fact: waiting.fact)
        if waiting.fact.change == .created { result.fact.change = .written }
        if waiting.fact.change == .renamed { result.fact.hasReplaced = true }
        return result
    }
}
