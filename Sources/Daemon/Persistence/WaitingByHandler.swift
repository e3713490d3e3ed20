import Engine
import LinuxSystem

/// Operations that waited on queues that are not durable when a watchd ended. The next one names them.
struct WaitingByHandler: Equatable, Sendable {
    /// Names in a sentence.
    private static let shown = 5

    /// By handler.
    private(set) var counts: [String: Int] = [:]
    /// When it was written, on the wall clock (microseconds); `nil`: an older watchd did not say.
    private(set) var time: Int64?

    /// - Parameter counts: by handler, none of them 0.
    init(_ counts: [String: Int]) { self.counts = counts }

    var isEmpty: Bool { counts.isEmpty }

    mutating func add(_ handler: String) { counts[handler, default: 0] += 1 }

    /// `3 operations that waited on queues that are not durable: disk (2), mail`.
    var sentence: String {
        let total = counts.values.reduce(0) { $0.addingReportingOverflow($1).partialValue }
        let names = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { name, count in
            Array(name.utf8).printable + (count == 1 ? "" : " (\(count))")
        }
        let more = names.count > Self.shown ? [counted(names.count - Self.shown, "other handler")] : []
        let list = (names.prefix(Self.shown) + more).joined(separator: ", ")
        if total == 1 { return "1 operation that waited on a queue that is not durable: \(list)" }
        return "\(total) operations that waited on queues that are not durable: \(list)"
    }

    /// The remedy; `nil`: there is none, as what waited for a client alone goes with it and has no queue.
    var help: String? {
        let isOfQueues = counts.keys.contains { !$0.hasPrefix(Engine.holdName) }
        return isOfQueues ? "Durable=yes for their queue keeps what waits" : nil
    }

    // MARK: In the store

    /// A line with the time, and one for each handler: the number, a space, its name. Empty: there are none.
    func text(at time: Int64) -> String {
        if isEmpty { return "" }
        return "at \(time)\n" + counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)\n" }.joined()
    }

    init() {}

    /// Lines that cannot be read count for nothing.
    init(text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            if parts.count == 2, parts[0] == "at" { time = Int64(parts[1]) }
            guard parts.count == 2, let count = Int(parts[0]), count > 0 else { continue }
            counts[String(parts[1])] = count
        }
    }
}
