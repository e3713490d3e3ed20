import ControlInterface
import Schedule

/// `watchctl history`: what has ended, and how to see more of it.
struct HistoryScreen {
    let history: ListHistory.Reply
    let isUnfolded: Bool
    let screen: Screen

    var lines: [Styled] {
        guard !history.operations.isEmpty else {
            return [Styled("Nothing of that kind has ended, or it is no longer kept.")]
        }
        let table = FinishedTable(screen: screen, isFolding: !isUnfolded, isOfResources: true)
        return table.lines(history.operations) + screen.flow(footer, .dim)
    }

    /// `1 failed of 50 · more: -n 100, --until 18:04:06 · only failures: --failed · details: show ID`.
    private var footer: [String] {
        let all = history.operations.count
        let failed = history.operations.count { $0.result?.isFailure == true }
        var parts = ["\(Phrases.count(failed)) failed of \(Phrases.count(all))"]
        if history.next != nil { parts.append("more: -n \(all * 2)" + (until.map { ", --until \($0)" } ?? "")) }
        if failed > 0, failed < all { parts.append("only failures: --failed") }
        return parts + ["details: show ID"]
    }

    /// As `--until` takes it: rather some of the last second once more than one too few.
    private var until: String? {
        guard let oldest = screen.instant(history.operations.last?.ended) else { return nil }
        let second = Timestamp(microseconds: (oldest.microseconds / 1_000_000 + 1) * 1_000_000)
        let clock = screen.local.clock(second)
        let isToday = screen.local.dayNumber(second) == screen.local.dayNumber(screen.now)
        return isToday ? clock : "\"\(screen.local.date(second)) \(clock)\""
    }
}
