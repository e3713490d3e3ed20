import Dispatch
import EventSources
import LinuxSystem
import Schedule
import Synchronization
package import Systemd
package import WatchFile

/// Where lines for people go: the journal, natively and with fields, when standard error is one of its streams; else
/// standard error.
///
/// Writing may block (a full journal, a paused terminal), so it happens on a context of its own, behind a bounded line.
/// Lines that do not fit are counted and said; a writer that can wait (handler output) asks `isCongested` and waits
/// with `whenDrained`.
package final class Logger: Sendable {
    /// Bytes that may wait to be written.
    private static let byteLimit = 8 << 20
    /// From here on, those who can wait should.
    private static let byteCongestion = 1 << 20
    /// Bytes written at once.
    private static let bytesPerWrite = 64 << 10

    /// A line with what it is about.
    package struct Line: Sendable {
        package var level: LogLevel
        package var message: String
        package var fields: [(name: String, value: String)]
        /// Its kind, where the catalog explains it.
        package var id: MessageID?
        /// Wall clock, microseconds; `nil`: it is not told.
        package var time: Int64? = Linux.now(.realtime)

        package init(
            _ level: LogLevel, _ message: String, _ fields: [(name: String, value: String)] = [], id: MessageID? = nil
        ) {
            self.level = level
            self.message = message
            self.fields = fields
            self.id = id
        }

        /// About what it takes while it waits.
        fileprivate var size: Int {
            fields.reduce(128 + message.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        }
    }

    private struct State {
        var lines: [Line] = []
        /// Of all that is not written.
        var bytes = 0
        /// Somebody takes what waits.
        var isWriting = false
        var suppressed = 0
        var waiters: [@Sendable () -> Void] = []
        var level: LogLevel
    }

    package let isJournal: Bool
    private let context = Context("watchd.log")
    private let state: Mutex<State>

    package init(level: LogLevel) {
        state = Mutex(State(level: level))
        isJournal = Journal.isStandardError()
    }

    package var level: LogLevel {
        get { state.withLock { $0.level } }
        set { state.withLock { $0.level = newValue } }
    }

    package func isEnabled(_ level: LogLevel) -> Bool { level <= self.level }

    package func log(
        _ level: LogLevel, _ message: @autoclosure () -> String, _ fields: [(name: String, value: String)] = [],
        id: MessageID? = nil
    ) {
        guard isEnabled(level) else { return }
        enqueue(Line(level, message(), fields, id: id))
    }

    /// A line of a handler: `LogLevel=` is about watchd's own lines.
    package func write(_ level: LogLevel, _ message: String, _ fields: [(name: String, value: String)] = []) {
        enqueue(Line(level, message, fields))
    }

    /// A line without a time, for a terminal only.
    package func print(_ line: String) {
        guard !isJournal else { return }
        var line = Line(.notice, line)
        line.time = nil
        enqueue(line)
    }

    package var isCongested: Bool { state.withLock { $0.bytes >= Self.byteCongestion } }

    /// Calls `work` (anywhere) once all that waits has been written; at once when nothing waits.
    package func whenDrained(_ work: @escaping @Sendable () -> Void) {
        let isNow = state.withLock { state in
            if state.bytes == 0 { return true }
            state.waiters.append(work)
            return false
        }
        if isNow { work() }
    }

    /// Waits until everything is written, or this many seconds have passed; for the end of the program.
    package func flush(seconds: Int) {
        let group = DispatchGroup()
        group.enter()
        context.async { group.leave() }
        // Nobody else makes the thread that it needs, where that could not be made at once.
        for _ in 0..<10 * seconds where group.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
            _ = Linux.makeOwedThreads()
        }
    }

    /// A writer that finds nobody writing wakes the context: the lines of a burst wake it once.
    private func enqueue(_ line: Line) {
        let mustBegin = state.withLock { state in
            guard state.bytes < Self.byteLimit else {
                state.suppressed += 1
                return false
            }
            state.lines.append(line)
            state.bytes += line.size
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustBegin { context.async { [self] in writeAll() } }
    }

    private func writeAll() {
        while true {
            let lines = state.withLock { state in
                defer { state.lines = [] }
                return state.lines
            }
            write(lines)
            let (isDone, suppressed, waiters) = state.withLock { state -> (Bool, Int, [@Sendable () -> Void]) in
                state.bytes -= lines.reduce(0) { $0 + $1.size }
                guard state.lines.isEmpty else { return (false, 0, []) }
                defer { (state.isWriting, state.suppressed, state.waiters) = (false, 0, []) }
                return (true, state.suppressed, state.waiters)
            }
            if suppressed > 0 {
                write([Line(.warning, "\(suppressed) lines were not logged: the log could not take them")])
            }
            for waiter in waiters { waiter() }
            if isDone { return }
        }
    }

    private func write(_ lines: [Line]) {
        guard !isJournal else { return lines.forEach(send) }
        var text: [UInt8] = []
        for line in lines {
            if let time = line.time { text += "\(Self.clock(time))  ".utf8 }
            text += Array(line.message.utf8).printableText.utf8
            text.append(UInt8(ascii: "\n"))
            guard text.count >= Self.bytesPerWrite else { continue }
            try? Linux.writeAll(2, text)
            text.removeAll(keepingCapacity: true)
        }
        try? Linux.writeAll(2, text)
    }

    private func send(_ line: Line) {
        let priority = JournalEntry.Priority(rawValue: line.level.rawValue) ?? .info
        var entry = JournalEntry(line.message, priority: priority)
        if let id = line.id { entry.add("MESSAGE_ID", id.rawValue) }
        for field in line.fields { entry.add(field.name, field.value) }
        // Nowhere is left to say that the journal is gone.
        try? Journal.send(entry)
    }

    /// `09:48:02.123`, local time.
    private static func clock(_ time: Int64) -> String {
        let local = time + Int64(Linux.utcOffset(at: time / 1_000_000)) * 1_000_000
        return String(Timestamp(microseconds: local).description.dropFirst(11).prefix(12))
    }
}

extension [UInt8] {
    /// As text for a terminal: control characters and what is not UTF-8 escaped, everything else (a backslash too) as
    /// it is.
    package var printableText: String {
        printable(doublingBackslashes: false)
    }
}
