import Engine
import LinuxSystem
import WatchFile

/// The comparison that a client asks for: `watchctl run SOURCE --changed`.
package enum PathComparison: Sendable {
    /// So many changes were found that nobody had been told of: they are told, or are as soon as nobody writes the file.
    case found(Int)
    /// It cannot be compared now: a sentence.
    case refused(String)
}

/// A comparison that is going on.
struct ComparisonCall {
    let then: (PathComparison) -> Void
    /// Roots whose comparison has not ended.
    var left: Int
    var found = 0
}

extension PathSource {
    /// Compares what stands at its paths with what was told of it, and tells the differences, `recovered`.
    package func compare(then: @escaping (PathComparison) -> Void) {
        if let reason = whyNotCompared { return then(.refused(reason)) }
        lastCall += 1
        let number = lastCall
        comparisonCalls[number] = ComparisonCall(then: then, left: roots.count)
        for root in roots { root.compare { [weak self] in self?.compared(number, $0) } }
    }

    private var whyNotCompared: String? {
        if roots.isEmpty { return "it has no Path=" }
        if isHeld { return "it is held back, and compared by itself when there is room for its events" }
        if let failure { return failure.reason }
        if let text = roots.lazy.compactMap(\.comparisonText).first { return text }
        if roots.contains(where: \.isUnready) { return "it is not armed yet" }
        return nil
    }

    /// - Parameter waiting: changes that were found and are told later.
    private func compared(_ number: Int, _ waiting: Int) {
        guard var call = comparisonCalls[number] else { return }
        call.left -= 1
        call.found += waiting
        comparisonCalls[number] = call.left > 0 ? call : nil
        if call.left == 0 { call.then(.found(call.found)) }
    }

    /// A change is told.
    func countFound(_ fact: PathFact) {
        guard fact.isRecovered, !comparisonCalls.isEmpty else { return }
        for number in comparisonCalls.keys { comparisonCalls[number]?.found += 1 }
    }

    func refuseComparisons(_ reason: String) {
        let calls = comparisonCalls.values
        comparisonCalls = [:]
        for call in calls { call.then(.refused(reason)) }
    }

    /// Whether the content of a file is told when it is complete.
    func tellsContent(of path: [UInt8], _ root: [UInt8]) -> Bool {
        asks(for: .written) && wants(PathFact(.written, path: path, root: root))
    }
}
