import ControlInterface

/// `watchctl status semaphore/NAME`: everything that is known of one semaphore.
struct SemaphoreScreen {
    let semaphore: ListSemaphores.Semaphore
    /// Operations that hold it or wait for it, as sentences.
    let users: [String]
    let screen: Screen

    var lines: [Styled] {
        let isShort = semaphore.available <= 0 && semaphore.waiting > 0
        let state = "\(Phrases.count(semaphore.available)) free"
        var facts = FactSheet("semaphore/\(semaphore.name)", Styled(state, isShort ? .yellow : .plain), screen)
        facts.addPlace(semaphore.file, semaphore.line)
        facts.add("value", Phrases.count(semaphore.value))
        facts.add("members", semaphore.members?.joined(separator: " "))
        facts.add("held by", all: Self.holders(semaphore).map { Styled($0) })
        facts.add("in line", Phrases.count(semaphore.waiting, "operation"))
        facts.add("used by", all: users.map { Styled($0) })
        return facts.lines
    }

    /// `4711 train: 0 2`; where units have no names, how many it holds if that is more than one: `4712 sync: 3`.
    static func holders(_ semaphore: ListSemaphores.Semaphore) -> [String] {
        semaphore.holders.map { holder in
            let what = holder.members?.joined(separator: " ") ?? (holder.count == 1 ? nil : Phrases.count(holder.count))
            return "\(holder.operation) \(holder.handler)" + (what.map { ": \($0)" } ?? "")
        }
    }
}
