/// The comment at the top of an example: what a person types, and the lines that watchd shows then.
///
///     # A sentence about the example.
///     #
///     #     $ watchctl emit image --data 1
///     #     $ watchctl emit image --data 2
///     #     image| begin 1
///     #     image| begin 2
///     #     a second later
///     #     image| end 1
///     #     image| end 2
///
/// Commands begin with `$`. Lines of one block come in any order; `then` and `a second later` begin the next block, and
/// nothing that sleeps in a handler goes on before it is `a second later`. `…` means: and so on.
struct Transcript {
    enum Step: Equatable {
        case command(String)
        /// Lines that come in any order.
        case lines([String])
        case later
        case andSoOn
    }

    private(set) var steps: [Step] = []
    /// Names of sections: lines of a log that begin with another name are no part of a transcript.
    let names: Set<Substring>

    init(_ file: String) {
        let lines = file.split(separator: "\n", omittingEmptySubsequences: false)
        names = Set(
            lines.filter { $0.hasPrefix("[") }.compactMap { line in
                line.dropFirst().prefix { $0 != "]" }.split(separator: " ").dropFirst().first
            })
        for line in lines.prefix(while: { $0.hasPrefix("#") }) where line.hasPrefix("#     ") {
            take(line.dropFirst(6))
        }
    }

    private mutating func take(_ line: Substring) {
        switch line {
        case _ where line.hasPrefix("$ "): steps.append(.command(String(line.dropFirst(2))))
        case "then": steps.append(.lines([]))
        case "a second later": steps += [.later, .lines([])]
        case "…": steps.append(.andSoOn)
        default:
            guard isOurs(line) else { return }
            if case .lines(let block) = steps.last {
                steps[steps.count - 1] = .lines(block + [String(line)])
            } else {
                steps.append(.lines([String(line)]))
            }
        }
    }

    /// `NAME| text` of a command, `NAME: text` of a `Log=`.
    private func isOurs(_ line: Substring) -> Bool {
        guard let end = line.firstIndex(where: { $0 == "|" || $0 == ":" }) else { return false }
        return names.contains(line[..<end])
    }

    /// The lines of a log that could stand in the transcript, without their times.
    func lines(ofLog log: String) -> [String] {
        log.split(separator: "\n").compactMap { line in
            guard let time = line.firstIndex(of: " ") else { return nil }
            let text = line[time...].drop { $0 == " " }
            return isOurs(text) ? Self.masked(String(text)) : nil
        }
    }

    /// `"id":N`, `"time":"TIME"` and `"traceparent":"TRACE"`, which differ from run to run.
    static func masked(_ line: String) -> String {
        line.replacing(/"id":[0-9]+/, with: "\"id\":N").replacing(/"time":"[^"]*"/, with: "\"time\":\"TIME\"")
            .replacing(/"traceparent":"[^"]*"/, with: "\"traceparent\":\"TRACE\"")
    }

    /// What is wrong with these lines; `nil`: nothing. `upTo`: steps that have been taken.
    func problem(_ lines: [String], upTo end: Int? = nil) -> String? {
        var rest = lines[...]
        for step in steps.prefix(end ?? steps.count) {
            if step == .andSoOn { return nil }
            guard case .lines(let block) = step else { continue }
            let found = rest.prefix(block.count)
            guard found.sorted() == block.sorted() else {
                return "expected \(block), got \(Array(found)) of\n\(lines.joined(separator: "\n"))"
            }
            rest = rest.dropFirst(block.count)
        }
        return end == nil && !rest.isEmpty ? "too much: \(Array(rest))" : nil
    }

    /// Lines that must have come when these steps have been taken.
    func count(upTo end: Int) -> Int {
        steps.prefix(end).reduce(0) { if case .lines(let block) = $1 { $0 + block.count } else { $0 } }
    }
}
