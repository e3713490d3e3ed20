/// What several changes of one path amount to while an operation waits (SEMANTICS, "Net effect").
///
/// A handler compares with what it last saw, so only the difference to that state counts: created and deleted again is
/// nothing, an editor's save (create a temporary file, rename it over the old one) is `written`.
enum NetEffect {
    /// The newer change of a path on top of the older one; `nil`: together they are nothing.
    ///
    /// Neither is a rename away from the path: that is `renaming(_:to:)`. `newer.path` is the path `older` stands at.
    static func of(_ older: PathFact, _ newer: PathFact) -> PathFact? {
        var result = newer
        result.isRecovered = older.isRecovered || newer.isRecovered
        switch (older.change, newer.change) {
        case (.created, .deleted):
            return nil
        case (.renamed, .deleted):
            result.path = older.oldPath ?? older.path
        case (.created, .created), (.created, .written), (.created, .modified), (.created, .attributes):
            result.change = .created
        case (.deleted, .created):
            result.change = .written
        case (.written, .created), (.written, .modified), (.written, .attributes):
            result.change = .written
        case (.modified, .attributes):
            result.change = .modified
        case (.renamed, .created), (.renamed, .written), (.renamed, .modified), (.renamed, .attributes):
            result.change = .renamed
            result.oldPath = older.oldPath
            result.hasReplaced = older.hasReplaced
        case (_, .written), (_, .modified), (_, .attributes), (_, .created), (_, .deleted), (_, .renamed):
            break
        }
        return result
    }

    /// `older`, whose path has now been renamed as `rename` says.
    static func renaming(_ older: PathFact, by rename: PathFact) -> PathFact {
        var result = rename
        result.isRecovered = older.isRecovered || rename.isRecovered
        switch older.change {
        case .created:
            result.change = .written
            result.oldPath = nil
            result.hasReplaced = false
        case .renamed where older.oldPath == rename.path:
            result.change = .written
            result.oldPath = nil
            result.hasReplaced = false
        case .renamed:
            result.oldPath = older.oldPath
        case .written, .modified, .attributes, .deleted:
            break
        }
        return result
    }

    /// What is left of `overwritten`, a change waiting at the path that `rename` has now put something else on:
    /// whether something stood there before, and the change that must still be told on its own.
    static func replacing(_ overwritten: PathFact) -> (replaced: Bool, remainder: PathFact?) {
        switch overwritten.change {
        case .created:
            return (false, nil)
        case .renamed:
            guard let oldPath = overwritten.oldPath else { return (true, nil) }
            return (overwritten.hasReplaced, PathFact(.deleted, path: oldPath, root: overwritten.root))
        case .written, .modified, .attributes, .deleted:
            return (true, nil)
        }
    }
}
