import WatchFile

/// `%@` makes a word of each path or line of an operation, and the kernel takes a bounded size of words (`execve(2)`): an
/// operation with more is split, as `Stride=` would, into parts that are as large as fits.
enum ArgumentSpace {
    /// Bytes of the words of one command. With a stack of 8 MiB the kernel takes 2 MiB, environment included.
    private static let usual = 1 << 20
    /// The kernel takes 128 KiB whatever the stack.
    private static let least = 64 << 10
    /// Each word has a NUL behind it, and a pointer.
    private static let besides = 9

    /// How many entries fit into each part; `nil`: all fit into one.
    static func stride(_ entries: borrowing EntryList, _ definition: HandlerDefinition) -> Int? {
        let times = definition.mostLists
        guard times > 0, entries.count > 1 else { return nil }
        let room = room(definition) / times
        if entries.load.bytes + entries.count * besides <= room { return nil }
        let sizes = entries.events.map { event in event.fact.words.reduce(0) { $0 + $1.count + besides } }
        return stride(sizes, room)
    }

    /// The largest stretch that always fits; 1 where not even that does.
    static func stride(_ sizes: [Int], _ room: Int) -> Int? {
        let total = sizes.reduce(0, +)
        guard total > room, sizes.count > 1 else { return nil }
        var parts = (total + room - 1) / room
        while parts < sizes.count {
            let stride = (sizes.count + parts - 1) / parts
            let starts = Swift.stride(from: 0, to: sizes.count, by: stride)
            if starts.allSatisfy({ sizes[$0..<min(sizes.count, $0 + stride)].reduce(0, +) <= room }) { return stride }
            parts += max(1, parts / 8)
        }
        return 1
    }

    private static func room(_ definition: HandlerDefinition) -> Int {
        guard let stack = definition.contract.limits.first(where: { $0.resource == .stack })?.soft else { return usual }
        return min(usual, max(least, Int(clamping: stack / 8)))
    }
}

extension HandlerDefinition {
    /// How often `%@` stands in one of its commands, at most.
    var mostLists: Int {
        guard case .exec(let commands) = action else { return 0 }
        var most = 0
        for command in commands { most = max(most, command.words.count { $0.isEverything }) }
        for command in conditions.commands { most = max(most, command.words.count { $0.isEverything }) }
        return most
    }
}
