/// The first difference found, and the steps that led to it.
struct Difference: Error, CustomStringConvertible {
    var difference: String
    /// What there is.
    var things: [String]
    var script: [String]

    var description: String { (things + script + ["=> " + difference]).joined(separator: "\n") }
}

extension Progress {
    /// What differs, in words; `name` is what the engine is held against.
    func difference(from engine: Progress, name: String) -> String? {
        func blocks(_ ids: Set<Int>) -> String { ids.sorted().map { "b\($0)" }.joined(separator: " ") }
        var words: [String] = []
        for (verb, real, engine) in [("started", started, engine.started), ("ended", ended, engine.ended)] {
            let (missing, extra) = (real.subtracting(engine), engine.subtracting(real))
            if !missing.isEmpty { words.append("\(blocks(missing)) \(verb) in \(name), not in the engine") }
            if !extra.isEmpty { words.append("\(blocks(extra)) \(verb) in the engine, not in \(name)") }
        }
        if notices != engine.notices {
            words.append("groups became empty in \(name) \(notices), in the engine \(engine.notices)")
        }
        return words.isEmpty ? nil : words.joined(separator: "; ")
    }
}

extension Array {
    /// The one of that number, counted round; `nil`: there are none.
    func at(_ number: Int) -> Element? { isEmpty ? nil : self[number % count] }
}
