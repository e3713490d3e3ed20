/// The units of each semaphore, and the demands of handlers.
extension Checker {
    mutating func readSemaphores() {
        for section in sections where section.kind == .semaphore {
            semaphoreNames.insert(section.name)
            let entries = Entries(defaultEntries(.semaphore), section.entries)
            checkLength(of: "Members", entries)
            let members = members(entries, section)
            if !members.isEmpty {
                semaphores.append(SemaphoreDefinition(name: section.name, members: members))
            } else if let value = entries["Value"]?.number {
                semaphores.append(SemaphoreDefinition(name: section.name, value: value))
            } else if !entries.has("Value"), !entries.has("Members") {
                problems.error(
                    "\(section.title) counts nothing: it needs Value=, or the names of its units in Members=",
                    at: section.header)
            }
        }
    }

    /// Of `Members=`, without what is told about.
    private mutating func members(_ entries: Entries, _ section: Section) -> [String] {
        let names = entries.names("Members").map(\.name)
        guard !names.isEmpty else { return [] }
        var seen: Set<String> = []
        for name in names where !seen.insert(name.string).inserted {
            problems.error("Members= of \(section.title) has \(name.text.shown) twice", at: name.text)
        }
        if let value = entries.entry("Value"), !value.isDefault {
            problems.error(
                "Value= and Members= exclude each other: \(section.title) has as many units as Members= has names",
                at: value.keyText)
        }
        return names.map(\.string).withoutRepeats
    }

    mutating func checkSemaphores() {
        let values = Dictionary(semaphores.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        let places = Dictionary(
            sections.filter { $0.kind == .semaphore }.map { ($0.name, "\($0.title) in \($0.header.place)") },
            uniquingKeysWith: { first, _ in first })
        let named = Set(semaphores.filter { !$0.members.isEmpty }.map(\.name))
        for handler in handlers { checkMembers(handler, named) }
        var givers: [String: Set<Int>] = [:]
        for (index, handler) in handlers.enumerated() {
            for count in handler.entries.counts("Release") { givers[count.name.string, default: []].insert(index) }
        }
        for (index, handler) in handlers.enumerated() {
            for key in HandlerDraft.semaphoreKeys { checkSum(of: key, handler) }
            for demand in demands(of: handler) {
                // One that may be empty at the start is filled by others, as after `dispatch_semaphore_create(0)`.
                guard let value = values[demand.name], value > 0, demand.total > value else { continue }
                let isGiven = givers[demand.name]?.contains { $0 != index } == true
                guard !isGiven || named.contains(demand.name) else { continue }
                problems.error(
                    "\(handler.title) can never start: it takes \(demand.total) of \(demand.name), of which "
                        + "\(places[demand.name] ?? demand.name) has "
                        + (named.contains(demand.name)
                            ? "\(value) Members=" : "Value=\(value), and no other handler has Release= of it"),
                    at: demand.text)
            }
        }
    }

    /// A member is lent to a run and comes back with its end, and only who acquires it can ask for its name.
    private mutating func checkMembers(_ handler: HandlerDraft, _ named: Set<String>) {
        for key in ["Release", "Consume"] {
            for count in handler.entries.counts(key) where named.contains(count.name.string) {
                problems.error(
                    "\(key)=\(count.name.string) cannot be: semaphore \(count.name.string) has Members=, which are "
                        + "lent to a run until its end: use Acquire=", at: count.text)
            }
        }
        var variables: [String: String] = [:]
        for count in handler.entries.counts("Acquire") where named.contains(count.name.string) {
            let (name, variable) = (count.name.string, SemaphoreDefinition.variable(count.name.string))
            if let other = variables[variable], other != name {
                problems.error(
                    "\(other) and \(name) would both be told in \(variable): rename one of them", at: count.text)
            }
            variables[variable] = name
        }
        let acquired = Set(handler.entries.counts("Acquire").map(\.name.string))
        for located in handler.specifiers {
            guard case .acquired(let name) = located.specifier else { continue }
            if let reason = reasonAgainst(acquired: name, by: handler, acquired, named) {
                problems.error("\(located.text.shown): \(reason)", at: located.text)
            }
        }
    }

    /// Why a run cannot tell the members that it holds of a semaphore.
    private func reasonAgainst(
        acquired name: String, by handler: HandlerDraft, _ acquired: Set<String>, _ named: Set<String>
    ) -> String? {
        if !semaphoreNames.contains(name) { return "there is no [Semaphore \(name)]" }
        if !named.contains(name) { return "the units of semaphore \(name) have no names: it needs Members=" }
        return acquired.contains(name) ? nil : "\(handler.title) holds none of it: add Acquire=\(name)"
    }

    private struct Demand {
        var name: String
        var total = 0
        /// The last that adds to it.
        var text: SourceText
    }

    /// The units that a start takes at once: `Acquire=` and `Consume=` together.
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
