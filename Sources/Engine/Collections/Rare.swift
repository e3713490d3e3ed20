/// A value that mostly keeps its initial state: one word, until somebody changes it.
struct Rare<Value: HasInitialValue>: Sendable {
    /// Empty, or one.
    private var storage: [Value] = []

    init() {}

    var isInitial: Bool { storage.isEmpty }

    /// Changing it makes room for it, which stays.
    var value: Value {
        _read {
            if storage.isEmpty { yield Value.initial } else { yield storage[0] }
        }
        _modify {
            if storage.isEmpty { storage = [Value.initial] }
            yield &storage[0]
        }
    }
}

protocol HasInitialValue: Sendable {
    static var initial: Self { get }
}
