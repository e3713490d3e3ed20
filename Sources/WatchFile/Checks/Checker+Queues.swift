extension Checker {
    /// The built-in queues first, then those of the files.
    mutating func readQueues() {
        let written = sections.filter { $0.kind == .queue }
        for name in QueueDefinition.builtInNames {
            let section = written.first { $0.name == name }
            let kind: QueueDefinition.Kind = name == "main" ? .serial : .concurrent(width: settings.maxProcesses)
            if let section { checkBuiltIn(section, kind) }
            var queue = queue(name, kind, Entries(defaultEntries(.queue), section?.entries ?? []))
            queue.qos = QoS(rawValue: name) ?? .default
            queues.append(queue)
        }
        for section in written where !QueueDefinition.builtInNames.contains(section.name) {
            if let meant = QueueDefinition.aliases[section.name] {
                problems.error(
                    "\(section.name) is another name of \(meant): write [Queue \(meant)]", at: section.header)
                continue
            }
            let entries = Entries(defaultEntries(.queue), section.entries)
            if entries.entry("Type")?.isUnreadable == true { queuesOfUnknownType.insert(section.name) }
            targets[queues.count] = entries.entry("Target")
            var queue = queue(section.name, kind(of: section, entries), entries)
            queue.qos = entries["QoS"]?.word.flatMap(QoS.init) ?? queue.qos
            queues.append(queue)
        }
        queueNames = Set(queues.map(\.name))
        for (index, entry) in targets {
            queues[index].target = entry.value?.names.first.flatMap { queueName($0.string) }
        }
    }

    /// The queue that a name means; `nil` where there is none.
    func queueName(_ name: String) -> String? {
        let name = QueueDefinition.aliases[name] ?? name
        return queueNames.contains(name) ? name : nil
    }

    private func queue(_ name: String, _ kind: QueueDefinition.Kind, _ entries: Entries) -> QueueDefinition {
        var queue = QueueDefinition(name: name, kind: kind)
        queue.backlog = entries["Backlog"]?.number ?? queue.backlog
        queue.backlogBytes = entries["BacklogBytes"]?.number ?? queue.backlogBytes
        queue.overflow = entries["Overflow"]?.word.flatMap(QueueDefinition.Overflow.init) ?? queue.overflow
        queue.isSuspended = entries["Suspended"]?.flag ?? queue.isSuspended
        queue.isDurable = entries["Durable"]?.flag ?? queue.isDurable
        queue.rateLimit = entries["RateLimit"]?.rate
        queue.environment = entries.list("Environment").flatMap { $0.value?.environment ?? [] }
        queue.finalizer = entries["Finalizer"]?.names.first?.string
        queue.submitters = entries["Submit"]?.submitters
        return queue
    }

    private mutating func kind(of section: Section, _ entries: Entries) -> QueueDefinition.Kind {
        if entries["Type"]?.word == "concurrent" {
            return .concurrent(width: entries["Width"]?.number ?? context.processors)
        }
        // A width among the defaults is for the concurrent queues; a type that could not be read has been told about.
        if let width = entries.entry("Width"), !width.isDefault, entries.entry("Type")?.isUnreadable != true {
            problems.error("a serial queue has no width: Width= needs Type=concurrent", at: width.keyText)
        }
        return .serial
    }

    private mutating func checkBuiltIn(_ section: Section, _ kind: QueueDefinition.Kind) {
        let entries = Entries(section.entries)
        let type = kind == .serial ? "serial" : "concurrent"
        if let entry = entries.entry("Type"), let word = entry.value?.word, word != type {
            problems.error("the built-in queue \(section.name) stays \(type)", at: entry.text)
        }
        if let entry = entries.entry("Width") {
            let reason = kind == .serial ? "is serial" : "is as wide as MaxProcesses="
            problems.error("the built-in queue \(section.name) \(reason)", at: entry.keyText)
        }
        let qos = QoS(rawValue: section.name) ?? .default
        if let entry = entries.entry("QoS"), let word = entry.value?.word, word != qos.rawValue {
            problems.error("the built-in queue \(section.name) has QoS=\(qos.rawValue)", at: entry.text)
        }
        if let entry = entries.entry("Target"), !entry.isUnreadable {
            problems.error("the built-in queue \(section.name) has no target", at: entry.keyText)
        }
    }
}

extension Entry {
    /// Has been told about.
    var isUnreadable: Bool { value == nil && !isClearing }
}
