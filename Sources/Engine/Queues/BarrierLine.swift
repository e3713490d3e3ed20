/// The barriers of a queue that have not ended, in order of submission, and how many other operations run through the
/// queue between them.
///
/// A barrier may start when nothing submitted before it is left; what was submitted behind one waits for its end. Only
/// the first can matter, so every question costs O(1), and an end O(log barriers).
struct BarrierLine: Sendable {
    private struct Mark: Sendable {
        var ticket: Ticket
        /// Operations submitted behind it and before the next barrier.
        var following = 0
    }

    /// Barriers of the queue's own that run.
    var running = 0
    /// Operations submitted before the first barrier.
    private var leading = 0
    private var marks = Deque<Mark>()

    init(running: Int = 0) { self.running = running }

    /// The barrier for which all others wait.
    var first: Ticket? { marks.first?.ticket }
    /// The first one has nothing before it.
    var isFirstFree: Bool { leading == 0 }
    /// Operations that the first one waits for.
    var countBeforeFirst: Int { leading }
    var second: Ticket? { marks.second?.ticket }
    var countBehindFirst: Int { marks.first?.following ?? 0 }

    /// Operations, other than barriers, that have not ended.
    var count: Int { marks.elements.reduce(leading) { $0 + $1.following } }

    mutating func submitBarrier(_ ticket: Ticket) { marks.append(Mark(ticket: ticket)) }

    mutating func submit() {
        if marks.isEmpty { leading += 1 } else { marks.modifyLast { $0.following += 1 } }
    }

    /// An operation that is no barrier here has ended. True: the first barrier may start now.
    mutating func end(_ ticket: Ticket) -> Bool {
        let behind = marks.partition(where: { $0.ticket < ticket })
        if behind > 0 {
            marks.modify(behind - 1) { $0.following -= 1 }
            return false
        }
        leading -= 1
        return leading == 0 && !marks.isEmpty
    }

    /// A barrier has ended. True: it was the first.
    @discardableResult
    mutating func endBarrier(_ ticket: Ticket) -> Bool {
        let index = marks.partition(where: { $0.ticket < ticket })
        let following = marks.remove(at: index).following
        if index == 0 { leading += following } else { marks.modify(index - 1) { $0.following += following } }
        return index == 0
    }

    /// Operations, barriers too, that were submitted before this one.
    func count(before ticket: Ticket) -> Int {
        let behind = marks.partition(where: { $0.ticket < ticket })
        return marks.elements.prefix(max(0, behind - 1)).reduce(leading) { $0 + $1.following } + behind
    }
}
