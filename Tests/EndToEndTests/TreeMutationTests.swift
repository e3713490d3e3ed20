import ProgramKit
import SeedKit
import Testing

/// Random changes of a tree, by several threads at once, beside a daemon that is stopped, killed and reloaded, and whose
/// kernel queue overflows: in the end a run has seen the last state of every path that has changed, no run was told of
/// any other, and of each path the runs came in the order of its changes.
@Suite("Random changes of trees, end to end", .ownThread) struct TreeMutationTests {
    @Test(arguments: Seeds.range(3, long: 120)) func aRunSeesTheLastStateOfEveryChangedPath(seed: UInt64) throws {
        try TreeMutation.run(seed, polls: false)
    }

    @Test(arguments: Seeds.range(2, long: 40)) func theSameWhereNothingIsWatched(seed: UInt64) throws {
        try TreeMutation.run(seed, polls: true)
    }
}
