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
/// What does not fit is counted and said; who can wait (handler output) asks `isCongested` and waits with `whenDrained`.
package final class Logger: Sendable {
    /// Lines that may wait to be written, and their bytes.
    private static let waitingLimit = 4096
    private static let byteLimit = 8 << 20
    /// From here on, those who can wait should.
    private static let congestion = 1024
    private static let byteCongestion = 1 << 20

    /// A line with what it is about.
    package struct Line: Sendable {
        package var level: LogLevel
        package var message: String
        package var fields: [(name: String, value: String)]
        /// Its kind, where the catalog explains it.
        package var id: MessageID?
        /// Wall clock, microseconds.
        package var time = Linux.now(.realtime)

        package init(
            _ level: LogLevel, _ message: String, _ fields: [(name: String, value: String)] = [], id: MessageID? = nil
        ) {
            self.level = level
            self.message = message
            self.fields = fields
            self.id = id
        }
    }

    private struct State {
        var waiting = 0
        var bytes = 0
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

    /// What handlers say: `LogLevel=` is about watchd's own lines.
    package func write(_ level: LogLevel, _ message: String, _ fields: [(name: String, value: String)] = []) {
        enqueue(Line(level, message, fields))
    }

    /// A line without a time, for a terminal only.
    package func print(_ line: String) {
        guard !isJournal else { return }
        context.async { try? Linux.writeAll(2, Array("\(line)\n".utf8)) }
    }

    package var isCongested: Bool {
        state.withLock { $0.waiting >= Self.congestion || $0.bytes >= Self.byteCongestion }
    }

    /// Calls `work` (anywhere) once all that waits has been written; at once when nothing waits.
    package func whenDrained(_ work: @escaping @Sendable () -> Void) {
        let isNow = state.withLock { state in
            if state.waiting == 0 { return true }
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
        _ = group.wait(timeout: .now() + .seconds(seconds))
    }

    private func enqueue(_ line: Line) {
        let isAccepted = state.withLock { state in
            guard state.waiting < Self.waitingLimit, state.bytes < Self.byteLimit else {
                state.suppressed += 1
                return false
            }
            state.waiting += 1
            state.bytes += line.message.utf8.count
            return true
        }
        if isAccepted { context.async { [self] in write(line) } }
    }

    private func write(_ line: Line) {
        emit(line)
        let (suppressed, waiters) = state.withLock { state -> (Int, [@Sendable () -> Void]) in
            state.waiting -= 1
            state.bytes -= line.message.utf8.count
            guard state.waiting == 0 else { return (0, []) }
            defer { (state.suppressed, state.waiters) = (0, []) }
            return (state.suppressed, state.waiters)
        }
        if suppressed > 0 { emit(Line(.warning, "\(suppressed) lines were not logged: the log could not take them")) }
        for waiter in waiters { waiter() }
    }

    /// `09:48:02.123`, local time.
    private static func clock(_ time: Int64) -> String {
        let local = time + Int64(Linux.utcOffset(at: time / 1_000_000)) * 1_000_000
        return String(Timestamp(microseconds: local).description.dropFirst(11).prefix(12))
    }

    private func emit(_ line: Line) {
        if isJournal {
            let priority = JournalEntry.Priority(rawValue: line.level.rawValue) ?? .info
            var entry = JournalEntry(line.message, priority: priority)
            if let id = line.id { entry.add("MESSAGE_ID", id.rawValue) }
            for field in line.fields { entry.add(field.name, field.value) }
            // Nowhere is left to say that the journal is gone.
            try? Journal.send(entry)
        } else {
            try? Linux.writeAll(2, Array("\(Self.clock(line.time))  \(Array(line.message.utf8).printableText)\n".utf8))
        }
    }
}

extension [UInt8] {
    /// As text for a terminal: control characters and what is not UTF-8 escaped, everything else (a backslash too) as
    /// it is.
    package var printableText: String {
        contains { $0 < 0x20 || $0 == 0x7F || $0 >= 0x80 }
            ? printable(doublingBackslashes: false) : String(decoding: self, as: UTF8.self)
    }
}
