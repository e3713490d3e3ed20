import Engine
import EventSources
import LinuxSystem
import WatchFile

/// `OnProblem=`, `OnSolved=`: the list of problems is made anew when it may have changed, and the engine tells.
extension Runtime {
    /// Microseconds from a change until the list is made: many changes are looked at once.
    private static let problemPause = 1_000_000
    /// Microseconds until the list is made anew where time alone may make a problem.
    private static let problemPatience = 10_000_000

    func problemsMayHaveChanged() {
        if tellsProblems { lookForProblems(in: Self.problemPause) }
    }

    /// Somebody wants to be told. Asked after each input: only what is stored is read, for which nothing is copied.
    private var tellsProblems: Bool {
        !(engine.settings.onProblem.isEmpty && engine.settings.onSolved.isEmpty) && !isStopping
    }

    /// Plans the next look, unless an earlier one is planned.
    private func lookForProblems(in span: Int) {
        let time = Linux.now(.monotonic) + Int64(span)
        guard time < nextProblemLook else { return }
        nextProblemLook = time
        core.after(span) { [bound] in
            if bound.value.nextProblemLook == time { bound.value.lookForProblems() }
        }
    }

    private func lookForProblems() {
        nextProblemLook = .max
        guard tellsProblems else { return }
        lookAtClocks()
        withProblems { runtime, problems in
            runtime.handle(.problems(problems))
            // A source that hangs, or an operation that waits, becomes a problem without a further input.
            if runtime.processesRunning > 0 || runtime.lanesAreBusy || runtime.slow.isBusy
                || !runtime.delayedRuns.isEmpty
            {
                runtime.lookForProblems(in: Self.problemPatience)
            }
        }
    }
}
