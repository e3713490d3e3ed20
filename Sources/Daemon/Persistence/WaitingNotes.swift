import Engine
import EventSources
import LinuxSystem
import Schedule

/// The note of the work that a kill would lose, as the store was given it last.
struct WaitingNotes {
    /// Operations that are noted one by one: the oldest.
    static let operationsNoted = 100

    private(set) var written = WaitingNote()
    /// The work is looked at again in a moment.
    var isPlanned = false

    /// As it stands in the store already.
    mutating func restore(_ note: WaitingNote) { written = note }

    /// `nil`: the store has it.
    mutating func change(to note: WaitingNote) -> WaitingNote? {
        guard note != written else { return nil }
        written = note
        return note
    }
}

/// The work that waits is noted now and then: at most once a second, with whatever else is written.
extension Runtime {
    /// Microseconds.
    private static let notePause = 1_000_000
    /// A look at very many operations is followed by a pause of so many times its span.
    private static let notePatience = 100

    func waitingMayHaveChanged(by actions: [Action]) {
        guard !waitingNotes.isPlanned, actions.contains(where: \.isReport) else { return }
        waitingNotes.isPlanned = true
        let begin = Linux.now(.monotonic)
        noteWaiting()
        let span = Int(Linux.now(.monotonic) - begin)
        core.after(max(Self.notePause, span * Self.notePatience)) { [bound] in
            bound.value.waitingNotes.isPlanned = false
            bound.value.noteWaiting()
        }
    }

    private func noteWaiting() {
        guard !isStopping else { return }
        let note = WaitingNote(askEngine { $0.waitingAtRisk(WaitingNotes.operationsNoted) })
        if let change = waitingNotes.change(to: note) { persistence?.write([.waiting(change.bytes)]) }
    }

    /// A stop names what it cancels.
    func forgetWaiting() {
        if waitingNotes.change(to: WaitingNote()) != nil { persistence?.write([.waiting([])]) }
    }
}

extension Action {
    fileprivate var isReport: Bool { if case .report = self { true } else { false } }
}
