package import ControlInterface
package import JSON
import Varlink

extension Samples {
    package static let payload = JSONValue.object(["a": .array([.int(1), .null])])

    package static let event = JSONValue.object([
        "id": .int(90_210), "source": .string("uploads"), "kind": .string("path"), "event": .string("written"),
        "path": .string("/srv/uploads/a.jpg"), "time": .string("2026-11-20T09:44:10.123456Z"), "count": .int(2),
    ])

    /// The first one has every member, which a daemon never sends.
    package static let followed: [Follow.Reply] = {
        var everything = Follow.Reply(sequence: 7, time: now, event: event, handlers: ["thumbnail"])
        everything.operation = completeOperation
        everything.initial = true
        everything.output = outputLines
        everything.gap = .init(first: 3, last: 6)
        return [
            everything, Follow.Reply(sequence: 7, time: now, gap: .init(first: 3, last: 6)),
            Follow.Reply(sequence: 8, time: now, event: event, handlers: ["thumbnail", "tell"]),
            Follow.Reply(sequence: 8, time: now, operation: waitingOperation, initial: true),
            Follow.Reply(sequence: 9, time: now, operation: waitingOperation),
            Follow.Reply(sequence: 9, time: now, operation: backingOff),
            Follow.Reply(sequence: 10, time: now, operation: operationRunning),
            Follow.Reply(sequence: 11, time: now, operation: operation),
            Follow.Reply(sequence: 12, time: now, output: .init(object: "process/web", copy: 2, lines: ["up"])),
            Follow.Reply(
                sequence: 13, time: now, output: .init(object: "handler/backup", operation: 4711, lines: ["a", "b"])),
        ]
    }()

    package static let outputLines = Follow.OutputLines(
        object: "handler/backup", operation: 4711, copy: 1, lines: ["connected", "done"])
}
