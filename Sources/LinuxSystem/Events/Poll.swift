import CLinux
import Glibc

/// The events that `poll(2)` waits for, and those it reports.
package struct PollEvents: OptionSet, Hashable, Sendable {
    package let rawValue: Int16

    package init(rawValue: Int16) { self.rawValue = rawValue }

    package static let readable = PollEvents(rawValue: Int16(POLLIN))
    package static let writable = PollEvents(rawValue: Int16(POLLOUT))
    package static let priority = PollEvents(rawValue: Int16(POLLPRI))
    package static let peerHangUp = PollEvents(rawValue: Int16(CLINUX_POLLRDHUP))
    package static let error = PollEvents(rawValue: Int16(POLLERR))
    package static let hangUp = PollEvents(rawValue: Int16(POLLHUP))
    package static let invalid = PollEvents(rawValue: Int16(POLLNVAL))
}

/// The rest of a time-out when a wait is interrupted and made again.
struct RemainingTime {
    private let milliseconds: Int32
    /// µs of the monotonic clock; set when the wait begins.
    private var deadline: Int64?

    init(milliseconds: Int32) { self.milliseconds = milliseconds }

    /// The time-out for the next try, in ms; -1 for ever.
    mutating func next() -> Int32 {
        guard milliseconds > 0 else { return milliseconds }
        let now = Linux.now(.monotonic)
        guard let deadline else {
            self.deadline = now + Int64(milliseconds) * 1000
            return milliseconds
        }
        return Int32(max(0, (deadline - now + 999) / 1000))
    }
}

extension Linux {
    /// `poll(2)`: what each descriptor reports, in the order given; all empty when `timeout` ms have passed (-1:
    /// never).
    package static func poll(
        _ wanted: [(descriptor: Int32, events: PollEvents)], timeout: Int32
    ) throws(SystemError) -> [PollEvents] {
        var entries = wanted.map { pollfd(fd: $0.descriptor, events: $0.events.rawValue, revents: 0) }
        var remaining = RemainingTime(milliseconds: timeout)
        try call("poll") { Glibc.poll(&entries, nfds_t(entries.count), remaining.next()) }
        return entries.map { PollEvents(rawValue: $0.revents) }
    }

    /// `poll(2)` without waiting: whether a descriptor has something to read. Of inotify, FIONREAD would count all of it.
    package static func isReadable(_ descriptor: Int32) throws(SystemError) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return try call("poll") { Glibc.poll(&entry, 1, 0) } > 0
    }

    /// `poll(2)` of one descriptor.
    package static func poll(_ descriptor: Int32, _ events: PollEvents, timeout: Int32) throws(SystemError)
        -> PollEvents
    {
        try poll([(descriptor, events)], timeout: timeout)[0]
    }
}
