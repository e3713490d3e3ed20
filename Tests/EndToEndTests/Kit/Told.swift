import JSON
import ProgramKit
import Testing
import Varlink

/// What a handler was told on its standard input.
struct Told {
    let operation: Int
    let handler: String
    let attempt: Int
    let isRedelivered: Bool
    let events: [JSONValue]

    init(_ line: some StringProtocol) throws {
        let message = try JSON.decode(JSONValue.self, from: Array(line.utf8)).members ?? [:]
        operation = try Int(#require(message["id"]?.int))
        handler = try #require(message["handler"]?.string)
        attempt = try Int(#require(message["attempt"]?.int))
        guard case .bool(let isRedelivered)? = message["redelivered"], case .array(let events)? = message["events"]
        else { throw TimedOut(description: "no message for a handler: \(line)") }
        (self.isRedelivered, self.events) = (isRedelivered, events)
    }

    /// What its events carry: the number of a payload's `token`, else the data, the line, or the name of the file.
    var tokens: [Int] {
        events.compactMap { event in
            let members = event.members ?? [:]
            if let token = members["payload"]?.members?["token"]?.int ?? members["data"]?.int { return Int(token) }
            let text = members["line"]?.string ?? members["path"]?.string ?? ""
            return text.split(separator: "/").last.flatMap { Int($0) }
        }
    }
}
