/// Where the events of a source go: mostly to one handler, which is kept without an allocation.
struct TargetList: RandomAccessCollection, Equatable, Sendable {
    typealias Target = SourceState.Target

    private var first = Target(handler: -1, queue: -1)
    private var rest: [Target] = []

    init(_ targets: [Target] = []) {
        guard let first = targets.first else { return }
        self.first = first
        rest = Array(targets.dropFirst())
    }

    var startIndex: Int { 0 }
    var endIndex: Int { first.handler < 0 ? 0 : 1 + rest.count }

    subscript(position: Int) -> Target {
        precondition(position < endIndex, "no such target")
        return position == 0 ? first : rest[position - 1]
    }
}
