package import Engine
import LinuxSystem
import Schedule
import WatchFile

/// An event in a few words.
package enum EventText {
    package static func sentence(_ event: Event) -> String {
        let text = fact(event)
        guard event.isByHand else { return text }
        return event.isMadeUp ? byHand : "\(text), \(byHand)"
    }

    /// It has no other cause: `watchctl run`.
    package static let byHand = "run by hand"

    private static func fact(_ event: Event) -> String {
        var text = fact(event.fact)
        if case .timer(let scheduled) = event.fact, event.time - scheduled > latest {
            text += ", due \(due(scheduled, now: event.time))"
        }
        return event.count > 1 ? "\(text) (\(event.count) times)" : text
    }

    /// `02:30:00`, on another day `2026-11-20 02:30:00`: local time.
    private static func due(_ time: Int64, now: Int64) -> String {
        let (due, today) = (local(time), local(now).prefix(10))
        return due.hasPrefix(today) ? String(due.dropFirst(11)) : due
    }

    /// `2026-11-20 02:30:00`: local time.
    static func local(_ time: Int64) -> String {
        let shifted = time + Int64(Linux.utcOffset(at: time / 1_000_000)) * 1_000_000
        return String(Timestamp(microseconds: shifted).description.prefix(19)).replacing("T", with: " ")
    }

    /// Microseconds that an elapse may be late without a word.
    private static let latest: Int64 = 1_000_000

    private static func fact(_ fact: Fact) -> String {
        switch fact {
        case .timer: "elapsed"
        case .signal(let signal):
            LinuxSignal.name(signal.number) + " from process \(signal.senderPID)"
                + (signal.senderExecutable.map { " (\($0.printable))" } ?? "")
                + (signal.value.map { ", value \($0)" } ?? "")
        case .path(let path):
            (path.oldPath.map { "renamed \($0.printable) to \(path.path.printable)" }
                ?? "\(path.change.rawValue) \(path.path.printable)") + (path.isRecovered ? ", recovered" : "")
        case .line(let line) where line.handover != nil:
            line.form.rawValue + (line.peer.map { " of \($0)" } ?? "")
        case .line(let line):
            "“\(shown(line.bytes).printable)\(isCut(line.bytes) ? "…" : "")”"
                + (line.isIncomplete ? " (incomplete)" : "")
        case .process(let process):
            "process \(process.pid) \(process.event.pastTense)"
                + (process.executable.map { ": \($0.printable)" } ?? "") + (process.exit.map { ", \(exit($0))" } ?? "")
        case .unit(let unit): "\(unit.unit) \(unit.change.rawValue)" + (unit.result.map { ", \($0)" } ?? "")
        case .custom(let custom):
            (custom.data.map { "data \($0)" } ?? "emitted") + (custom.payload == nil ? "" : " with a payload")
        case .group(let group):
            "\(group.ran) ran, \(group.failed) failed, \(group.cancelled) cancelled"
                + (group.lost > 0 ? ", \(group.lost) lost" : "")
        case .finalizer: "the queue is finished"
        case .command(let command): command.title
        case .completion(let completion):
            "operation \(completion.operation) \(completion.result?.rawValue ?? completion.outcome.rawValue)"
        case .problem(let fact): fact.isSolved ? "solved: \(fact.problem.sentence)" : fact.problem.sentence
        case .silence(let silence):
            silence.isOver ? "heard again" : "no event for \(SpanText.elapsed(silence.silent))"
        }
    }

    /// Bytes of a line.
    private static let longestLine = 200

    /// It has more than a sentence shows.
    static func isCut(_ line: [UInt8]) -> Bool { line.count > longestLine }

    /// Whole letters, where it is text.
    private static func shown(_ line: [UInt8]) -> [UInt8] {
        guard isCut(line) else { return line }
        var end = longestLine
        while end > longestLine - 4, line[end] & 0xC0 == 0x80 { end -= 1 }
        return Array(line[..<end])
    }

    package static func exit(_ exit: Exit) -> String {
        switch exit {
        case .exited(let code): "exit \(code)"
        case .signaled(let number): LinuxSignal.name(number)
        }
    }
}

extension CommandFact {
    /// Bytes of a command line that people are shown.
    private static let longestTitle = 500

    /// The name for people: its name, or else its command line, as a shell would take it.
    package var title: String {
        if let name { return Array(name.utf8).printable }
        var title = ""
        for argument in arguments {
            let left = Self.longestTitle - title.utf8.count
            guard left > 0 else { return title + " …" }
            let word = Self.quoted(Array(argument.prefix(left)).printable(doublingBackslashes: false))
            title += (title.isEmpty ? "" : " ") + word + (argument.count > left ? "…" : "")
        }
        return title
    }

    private static func quoted(_ word: String) -> String {
        let isPlain = word.unicodeScalars.allSatisfy { scalar in
            scalar.properties.isAlphabetic || "0123456789_@%+=:,./-".unicodeScalars.contains(scalar)
        }
        return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}

extension ProcessEvent {
    fileprivate var pastTense: String {
        switch self {
        case .exit: "ended"
        case .fork: "was forked"
        case .exec: "was executed"
        case .coredump: "dumped core"
        }
    }
}
