/// The nearest valid spelling of a word.
package enum Spelling {
    /// Words longer than this are not compared.
    private static let maximumLength = 64
    /// Shorter words say too little to be completed.
    private static let shortestBeginning = 3

    /// The candidate that `word` most likely means; `nil` when none is near.
    package static func nearest(to word: String, among candidates: some Sequence<String>) -> String? {
        let word = Array(word.lowercased().utf8)
        guard !word.isEmpty, word.count <= maximumLength else { return nil }
        var best: (candidate: String, distance: Int, isBegun: Bool)?
        for candidate in candidates {
            let other = Array(candidate.lowercased().utf8)
            guard other.count <= maximumLength, abs(other.count - word.count) <= tolerance(word.count) else { continue }
            // Of those that are equally far away, the first that begins so, else the first.
            let isBegun = other.starts(with: word)
            let mayTie = isBegun && best?.isBegun == false
            let limit = min(tolerance(min(word.count, other.count)), (best?.distance ?? .max) - (mayTie ? 0 : 1))
            if let distance = distance(word, other, upTo: limit) { best = (candidate, distance, isBegun) }
        }
        if let best { return best.candidate }
        // A word that was left off half way.
        guard word.count >= shortestBeginning else { return nil }
        return candidates.first { $0.lowercased().utf8.starts(with: word) }
    }

    /// Two letters may be one mistake, never the whole word.
    private static func tolerance(_ length: Int) -> Int {
        switch length {
        case 0...1: 0
        case 2...4: 1
        case 5...8: 2
        default: length / 3
        }
    }

    /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment); `nil`: more than `limit`.
    private static func distance(_ left: [UInt8], _ right: [UInt8], upTo limit: Int) -> Int? {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var (row, least) = ([i + 1], i + 1)
            for (j, b) in right.enumerated() {
                var cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (a == b ? 0 : 1))
                if i > 0, j > 0, a == right[j - 1], left[i - 1] == b { cost = min(cost, beforeLast[j - 1] + 1) }
                row.append(cost)
                least = min(least, cost)
            }
            // A later row has nothing less; a swap costs one more than the row before this one has.
            if least > limit { return nil }
            (beforeLast, last) = (last, row)
        }
        return last[right.count] <= limit ? last[right.count] : nil
    }
}
