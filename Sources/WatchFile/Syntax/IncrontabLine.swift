import Schedule

/// A line of incrontab(5) in a watch file: a path, what happens to it, and a command.
enum IncrontabLine {
    /// The section and keys that mean the same, and what has none; `nil`: it is no such line.
    static func translation(_ line: SourceText) -> String? {
        let words = line.words
        guard words.count > 2, words[0].bytes.first == UInt8(ascii: "/"),
            String(validating: line.bytes, as: UTF8.self) != nil
        else { return nil }
        let names = words[1].string.split(separator: ",").map(String.init)
        let masks = names.filter { $0.hasPrefix("IN_") }
        if masks.isEmpty { return nil }
        let events = masks.flatMap { Self.events[$0] ?? [] }.withoutRepeats
        let others = masks.filter { Self.events[$0] == nil && !Self.flags.contains($0) }.joined(separator: ", ")
        if events.isEmpty { return "nothing: watchd tells of changes, and not of \(others.isEmpty ? "flags" : others)" }
        let command = line[words[2].bytes.startIndex..<line.bytes.endIndex].string.replacing("%", with: "%%")
        let isTree = !names.contains("recursive=false")
        let tree = isTree ? "Recursive=yes, " + (names.contains("dotdirs=true") ? "" : "Prune=.*, ") : ""
        // Of a tree too, most use it with the name behind it.
        let folder = (sign: "$@", specifier: words[0].string.replacing("%", with: "%%"))
        let exec = (specifiers + [folder, (sign: "$$", specifier: "$")]).reduce(command) {
            $0.replacing($1.sign, with: $1.specifier)
        }
        let lacking = others.isEmpty ? "" : " (nothing tells of \(others))"
        return "[Path NAME], and below it Path=\(words[0].string), \(tree)Events=\(events.joined(separator: " "))"
            + "\(lacking), Key=%p and Exec=\(exec)"
    }

    /// Of a file that is moved within the folder, incron tells both ends.
    private static let events = [
        "IN_CLOSE_WRITE": ["written"], "IN_CLOSE": ["written"], "IN_MOVED_TO": ["written"],
        "IN_MOVED_FROM": ["deleted"],
        "IN_MOVE": ["written", "renamed", "deleted"], "IN_MOVE_SELF": ["deleted"], "IN_DELETE": ["deleted"],
        "IN_DELETE_SELF": ["deleted"], "IN_CREATE": ["created"], "IN_MODIFY": ["modified"], "IN_ATTRIB": ["attributes"],
        "IN_ALL_EVENTS": ["changed", "created", "modified", "attributes"],
    ]

    /// Masks that are about the watch, not about what happens.
    private static let flags = ["IN_DONT_FOLLOW", "IN_ONESHOT", "IN_ONLYDIR", "IN_NO_LOOP"]

    /// In this order: what is longer comes first.
    private static let specifiers = [
        (sign: "$@/$#", specifier: "%p"), (sign: "$#", specifier: "%f"), (sign: "$%%", specifier: "%{event}"),
    ]
}
