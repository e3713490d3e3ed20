import WatchFile

/// The diagnostics of one file, each as `LINE:COLUMN: SENTENCE`.
func problems(in text: String, processors: Int = 4) -> [String] {
    // Handlers of tests are seldom started.
    load(text, processors: processors).diagnostics.filter { !$0.message.hasPrefix("nothing starts ") }.map {
        diagnostic in
        let line = diagnostic.location.line.map { "\($0):" } ?? ""
        let column = diagnostic.location.column.map { "\($0): " } ?? ""
        return line + column + diagnostic.sentence
    }
}

func load(_ text: String, processors: Int = 4) -> LoadResult { load(bytes: Array(text.utf8), processors: processors) }

func load(bytes: [UInt8], processors: Int = 4) -> LoadResult {
    WatchFile.load([WatchFileText(file: "test.watch", bytes: bytes)], context: LoadContext(processors: processors))
}

/// Sebastiano Vigna's splitmix64: small, and the same numbers from the same seed everywhere.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }
}
