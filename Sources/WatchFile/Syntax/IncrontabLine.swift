import Schedule

/// A line of incrontab(5) in a watch file: a path, what happens to it, and a command.
enum IncrontabLine {
    /// The section and keys that mean the same; `nil`: it is no such line.
    static func translation(_ line: SourceText) -> String? {
        let words = line.words
        guard words.count > 2, words[0].bytes.first == UInt8(ascii: "/"),
            String(validating: line.bytes, as: UTF8.self) != nil
        else { return nil }
        let names = words[1].string.split(separator: ",").map(String.init)
        guard names.contains(where: { $0.hasPrefix("IN_") }) else { return nil }
        let events = names.compactMap { ForeignNames.word($0, of: Self.events) }.withoutRepeats
        guard !events.isEmpty else { return nil }
        let command = line[words[2].bytes.startIndex..<line.bytes.endIndex].string.replacing("%", with: "%%")
        // incron(8) watches no tree: the folder of an event is the path itself.
        let folder = (sign: "$@", specifier: words[0].string.replacing("%", with: "%%"))
        let exec = (specifiers + [folder, (sign: "$$", specifier: "$")]).reduce(command) {
            $0.replacing($1.sign, with: $1.specifier)
        }
        return "[Path NAME], and below it Path=\(words[0].string), Events=\(events.joined(separator: " ")), Key=%p "
            + "and Exec=\(exec)"
    }

    private static let events = ["written", "renamed", "deleted", "created", "modified", "attributes", "changed"]

    /// In this order: what is longer comes first.
    private static let specifiers = [
        (sign: "$@/$#", specifier: "%p"), (sign: "$#", specifier: "%f"), (sign: "$%%", specifier: "%{event}"),
    ]
}
