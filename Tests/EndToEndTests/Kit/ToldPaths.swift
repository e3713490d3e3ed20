import JSON
import LinuxSystem
import ProgramKit
import Varlink

/// What runs were told of paths below `in`: each run adds a line to the file `told`, with the number of the life of the
/// daemon, the microsecond of the wall clock and the message.
struct ToldPaths {
    struct Line {
        var life: Int
        var begun: Int64
        var operation: Int
        var text: String
    }

    /// What was told last of a path.
    struct Last {
        var isThere: Bool
        /// The life of the daemon that has told it.
        var life: Int
        /// When its run began: microseconds of the wall clock.
        var begun: Int64
        /// The number of its line.
        var line: Int
    }

    private(set) var lines: [Line] = []
    private(set) var last: [String: Last] = [:]

    /// Takes in what was added.
    mutating func read(_ folder: Folder) throws {
        let text = folder.text("told")
        // A line that is being written has no end yet.
        guard let end = text.lastIndex(of: "\n") else { return }
        for line in text[..<end].split(separator: "\n").dropFirst(lines.count) { try take(line, folder["in"] + "/") }
    }

    private mutating func take(_ line: Substring, _ root: String) throws {
        let parts = line.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let life = Int(parts[0]), let begun = Int64(parts[1]) else {
            throw TimedOut(description: "no line of a run: \(line)")
        }
        let message = try Told(parts[2])
        var (gone, there, texts) = ([String](), [String](), [String]())
        for event in message.events {
            let members = event.members ?? [:]
            func path(_ key: String) -> String? {
                guard let path = members[key]?.string, path.hasPrefix(root) else { return nil }
                return String(path.dropFirst(root.count))
            }
            let change = members["event"]?.string ?? ""
            let (old, new) = (path("old_path"), path("path"))
            gone += [old, change == "deleted" ? new : nil].compactMap(\.self)
            there += [change == "deleted" ? nil : new].compactMap(\.self)
            let names = [old, new].compactMap(\.self).joined(separator: " > ")
            texts.append("\(change) \(names)\(members["recovered"] == nil ? "" : "*")")
        }
        // All of it is true at once: what was moved away and is there again was made anew.
        for (path, isThere) in gone.map({ ($0, false) }) + there.map({ ($0, true) }) {
            note(path, Last(isThere: isThere, life: life, begun: begun, line: lines.count))
        }
        lines.append(Line(life: life, begun: begun, operation: message.operation, text: texts.joined(separator: ", ")))
    }

    private mutating func note(_ path: String, _ new: Last) {
        guard let old = last[path] else {
            last[path] = new
            return
        }
        // A run of a daemon that was killed may end beside those of the next one.
        if new.life < old.life { return }
        last[path] = new
    }
}
