/// What there is of each semaphore, and what handlers want of it.
extension Checker {
    mutating func readSemaphores() {
        for section in sections where section.kind == .semaphore {
            semaphoreNames.insert(section.name)
            let entries = Entries(defaultEntries(.semaphore), section.entries)
            if let value = entries["Value"]?.number {
                semaphores.append(SemaphoreDefinition(name: section.name, value: value))
            } else if !entries.has("Value") {
                problems.error("\(section.title) counts nothing: it needs Value=", at: section.header)
            }
        }
    }

    mutating func checkSemaphores() {
        let values = Dictionary(semaphores.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        let places = Dictionary(
            sections.filter { $0.kind == .semaphore }.map { ($0.name, "\($0.title) in \($0.header.place)") },
            uniquingKeysWith: { first, _ in first })
        var givers: [String: Set<Int>] = [:]
        for (index, handler) in handlers.enumerated() {
            for count in handler.entries.counts("Release") { givers[count.name.string, default: []].insert(index) }
        }
        for (index, handler) in handlers.enumerated() {
            for key in HandlerDraft.semaphoreKeys { checkSum(of: key, handler) }
            for demand in demands(of: handler) {
                // One that may be empty at the start is filled by others, as after `dispatch_semaphore_create(0)`.
                guard let value = values[demand.name], value > 0, demand.total > value else { continue }
                guard givers[demand.name]?.contains(where: { $0 != index }) != true else { continue }
                problems.error(
                    "\(handler.title) can never start: it takes \(demand.total) of \(demand.name), of which "
                        + "\(places[demand.name] ?? demand.name) has Value=\(value), and no other handler has Release= of it",
                    at: demand.text)
            }
        }
    }

    private struct Demand {
        var name: String
        var total = 0
        /// The last that adds to it.
        var text: SourceText
    }

    /// What a start takes at once: `Acquire=` and `Consume=` together.
    private func demands(of handler: HandlerDraft) -> [Demand] {
        var demands: [Demand] = []
        var indices: [String: Int] = [:]
        for count in handler.entries.counts("Acquire") + handler.entries.counts("Consume") {
            let index = indices[count.name.string] ?? demands.count
            if index == demands.count {
                indices[count.name.string] = index
                demands.append(Demand(name: count.name.string, text: count.text))
            }
            demands[index].total += count.count
            demands[index].text = count.text
        }
        return demands
    }

    /// One key is bounded as one count is.
    private mutating func checkSum(of key: String, _ handler: HandlerDraft) {
        var sums: [String: Int] = [:]
        for count in handler.entries.counts(key) {
            sums[count.name.string, default: 0] += count.count
            guard sums[count.name.string] ?? 0 > KeyTable.count.upperBound else { continue }
            problems.error(
                "\(key)= has more than \(KeyTable.count.upperBound) of \(count.name.string) together", at: count.text)
            return
        }
    }
}
