import Engine
import EventSources
import LinuxSystem

/// `OnProblem=`, `OnSolved=`: the list of problems is made anew when it may have changed, and the engine tells.
extension Runtime {
    /// Microseconds from a change until the list is made: many changes are looked at once.
    private static let problemPause = 1_000_000
    /// Microseconds until the list is made anew where time alone may make a problem.
    private static let problemPatience = 10_000_000

    func problemsMayHaveChanged() {
        guard engine.tellsProblems, !isProblemLookPlanned else { return }
        isProblemLookPlanned = true
        core.after(Self.problemPause) { [bound] in bound.value.lookForProblems() }
    }

    private func lookForProblems() {
        isProblemLookPlanned = false
        guard engine.tellsProblems else { return }
        lookAtClocks()
        withProblems { runtime, problems in
            runtime.handle(.problems(problems))
            runtime.lookLaterForProblems()
        }
    }

    /// A source that hangs, or an operation that waits, becomes a problem without a further input.
    private func lookLaterForProblems() {
        guard processesRunning > 0 || lanesAreBusy || slow.isBusy || !delayedRuns.isEmpty, !isProblemLookPlanned else {
            return
        }
        isProblemLookPlanned = true
        core.after(Self.problemPatience) { [bound] in bound.value.lookForProblems() }
    }
}
