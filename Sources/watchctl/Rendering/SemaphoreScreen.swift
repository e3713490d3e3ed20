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
        facts.add("in line", Phrases.count(semaphore.waiting, "operation"))
        facts.add("used by", all: users.map { Styled($0) })
        return facts.lines
    }
}
