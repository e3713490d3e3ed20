import JSON
import Varlink

/// An event object, as handlers are told it, in a few words.
enum EventText {
    /// `path/uploads  written /srv/a.jpg, 3 times`.
    static func describe(_ event: JSONValue) -> String {
        let members = event.members ?? [:]
        func text(_ name: String) -> String? {
            switch members[name] {
            case .string(let string): string
            case .int(let int): String(int)
            default: nil
            }
        }
        var words = [text("event") ?? text("kind") ?? "event"]
        if let old = text("old_path") { words.append("\(old) →") }
        words += ["path", "line", "signal", "unit"].compactMap(text)
        if case .array(let command) = members["command"] {
            words.append(text("name") ?? command.compactMap(\.string).joined(separator: " "))
        }
        if let pid = text("pid") { words.append("pid \(pid)") }
        if let status = text("exit_status") { words.append("exit \(status)") }
        if let sender = text("sender_pid") { words.append("from pid \(sender)") }
        if let data = text("data") { words.append(data) }
        let count = members["count"]?.int ?? 1
        let what = words.joined(separator: " ") + (count > 1 ? ", \(count) times" : "")
        guard let kind = text("kind"), let source = text("source") else { return what }
        return "\(kind)/\(source)  \(what)"
    }
}
