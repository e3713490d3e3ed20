/// The conditions that must hold before a run does what its handler is for. Looked at before each attempt, a run by
/// hand and each part of a split operation too, in this order: paths, then commands. The first that does not hold ends
/// the run skipped.
package struct RunConditions: Equatable, Sendable {
    /// `ConditionPathExists=`.
    package var paths: [PathCondition]
    /// `ExecCondition=`: exit status 0 holds, 1 to 254 does not, anything else is a failure. They run as the handler's
    /// commands do, and their time counts against its `TimeoutSec=`.
    package var commands: [Command]

    package init(paths: [PathCondition] = [], commands: [Command] = []) {
        self.paths = paths
        self.commands = commands
    }

    package var isEmpty: Bool { paths.isEmpty && commands.isEmpty }
}

/// `ConditionPathExists=`.
package struct PathCondition: Equatable, Sendable {
    /// Absolute; a symbolic link is followed.
    package var path: [UInt8]
    /// `!`: it must not exist.
    package var isNegated: Bool

    package init(path: [UInt8], isNegated: Bool = false) {
        self.path = path
        self.isNegated = isNegated
    }
}
