import JSON
import LinuxSystem
import Varlink

/// An event object, as handlers are told it, in a few words.
enum EventText {
    /// `path/uploads  written /srv/a.jpg, 3 times`, `timer/nightly  run by hand`.
    ///
    /// - Parameter isOfHandler: where it is by hand, a handler was run: no source has to do with it.
    static func describe(_ event: JSONValue, isOfHandler: Bool = false) -> String {
        let members = event.members ?? [:]
        func text(_ name: String) -> String? {
            switch members[name] {
            case .string(let string): string
            case .int(let int): String(int)
            default: nil
            }
        }
        var words = [text("event") ?? text("kind") ?? "event"]
        if let old = path(members, "old_path") { words.append("\(old) →") }
        words += [path(members, "path"), text("line"), text("signal"), text("unit")].compactMap(\.self)
        if case .array(let command) = members["command"] {
            words.append(text("name") ?? command.compactMap(\.string).joined(separator: " "))
        }
        if let pid = text("pid") { words.append("pid \(pid)") }
        if let status = text("exit_status") { words.append("exit \(status)") }
        if let sender = text("sender_pid") { words.append("from pid \(sender)") }
        if let data = text("data") { words.append(data) }
        let count = members["count"]?.int ?? 1
        let recovered = members["recovered"] == .bool(true) ? ", recovered" : ""
        var what = words.joined(separator: " ") + recovered + (count > 1 ? ", \(count) times" : "")
        if isByHand(event) { what = isMadeUp(members) ? byHand : "\(what), \(byHand)" }
        guard let kind = text("kind"), let source = text("source") else { return what }
        return isOfHandler && isByHand(event) ? "\(source)  \(what)" : "\(kind)/\(source)  \(what)"
    }

    /// As everywhere; where it is not UTF-8 the text alone would name another file.
    private static func path(_ members: [String: JSONValue], _ name: String) -> String? {
        guard let text = members[name]?.string else { return nil }
        return (members[name + "_base64"]?.string.flatMap(Base64.decode) ?? Array(text.utf8)).printable
    }

    /// The event with the handlers that it goes to.
    static func describe(_ event: JSONValue, to handlers: [String]) -> String {
        let members = event.members ?? [:]
        // The run of a handler names that as the source.
        let isOfHandler = members["kind"] == .string("custom") && handlers.contains { members["source"] == .string($0) }
        return "\(describe(event, isOfHandler: isOfHandler)) → \(handlers.joined(separator: ", "))"
    }

    static let byHand = "run by hand"

    static func isByHand(_ event: JSONValue) -> Bool { event.members?["by_hand"] == .bool(true) }

    /// Of an event by hand: nothing of it was given.
    private static func isMadeUp(_ members: [String: JSONValue]) -> Bool {
        switch members["kind"] {
        case .string("timer"): true
        // A reader is told neither.
        case .string("custom"): members["data"]?.int ?? 1 == 1 && members["payload"] == nil
        default: false
        }
    }
}
