import ProgramKit

/// What the handlers of a chaos run were told, in the order in which they noted it.
struct ChaosLedger {
    private(set) var entries: [Told] = []
    /// Lines that were cut off by the death of who wrote them.
    private(set) var tornLines = 0

    init(_ folder: Folder, _ file: String) {
        for line in folder.lines(file) {
            if let told = try? Told(line) {
                entries.append(told)
                continue
            }
            tornLines += 1
            // Behind the piece of a line stands a whole one.
            guard let start = line.ranges(of: "{\"attempt\":").last, let told = try? Told(line[start.lowerBound...])
            else { continue }
            entries.append(told)
        }
    }

    func entries(of handler: String) -> [Told] { entries.filter { $0.handler == handler } }

    func tokens(of handler: String) -> Set<Int> { Set(entries(of: handler).flatMap(\.tokens)) }

    /// What is wrong with it, whatever was sent: one sentence each.
    func contradictions(plain: Set<String>) -> [String] {
        Dictionary(grouping: entries, by: \.operation).values.flatMap { runs -> [String] in
            guard let first = runs.first else { return [] }
            let name = "operation \(first.operation) of \(first.handler)"
            var found: [String] = []
            if !runs.allSatisfy({ $0.handler == first.handler }) { found.append("\(name): also of another handler") }
            if !runs.allSatisfy({ $0.events == first.events }) { found.append("\(name): its events have changed") }
            if plain.contains(first.handler), runs.count > 1 { found.append("\(name): not durable, and ran again") }
            let byAttempt = Dictionary(grouping: runs, by: \.attempt).values
            if !byAttempt.allSatisfy({ $0.dropFirst().allSatisfy { $0.isRedelivered } }) {
                found.append("\(name): an attempt ran again and did not say so")
            }
            return found
        }
    }

    /// Tokens that ran as more than one operation.
    func doubled(of handler: String) -> [Int] {
        var operations: [Int: Set<Int>] = [:]
        for entry in entries(of: handler) {
            for token in entry.tokens { operations[token, default: []].insert(entry.operation) }
        }
        return operations.filter { $0.value.count > 1 }.keys.sorted()
    }

    /// Tokens of an operation that others of them ran before, and that did not say so.
    func silentRepeats(of handler: String) -> [Int] {
        var firsts: [Int: Int] = [:]
        let entries = entries(of: handler).sorted { $0.operation < $1.operation }
        return entries.flatMap { entry in
            entry.tokens.filter { token in
                let first = firsts[token, default: entry.operation]
                firsts[token] = first
                return first != entry.operation && !entry.isRedelivered
            }
        }
    }

    /// The runs that had this token, as a line.
    func story(of token: Int) -> String {
        let runs = entries.filter { $0.tokens.contains(token) }.map { entry in
            "operation \(entry.operation) attempt \(entry.attempt)\(entry.isRedelivered ? " redelivered" : "")"
        }
        return "\(token): \(runs.joined(separator: ", "))"
    }

    var repeats: Int { entries.count { $0.isRedelivered } }
}
