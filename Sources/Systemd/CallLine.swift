/// Calls that wait for their turn: a system bus refuses a connection that has more than 128 unanswered ones
/// (`max_replies_per_connection` of `dbus-daemon(1)`), and each run of many may have some. In the order of their coming.
final class CallLine {
    /// At once; others than these have room beside them.
    private static let limit = 48

    private var waiting: [(_ finished: @escaping () -> Void) -> Void] = []
    private var first = 0
    private(set) var going = 0

    /// `call` gets what it has to do when it was answered, once.
    func enter(_ call: @escaping (_ finished: @escaping () -> Void) -> Void) {
        waiting.append(call)
        next()
    }

    private func next() {
        while going < Self.limit, first < waiting.count {
            let call = waiting[first]
            first += 1
            going += 1
            call { [weak self] in
                self?.going -= 1
                self?.next()
            }
        }
        guard first == waiting.count else { return }
        waiting.removeAll(keepingCapacity: true)
        first = 0
    }
}
