import CLinux
import Glibc

/// The events that an epoll set waits for, and those it reports.
package struct EpollEvents: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let readable = EpollEvents(rawValue: EPOLLIN.rawValue)
    package static let writable = EpollEvents(rawValue: EPOLLOUT.rawValue)
    package static let priority = EpollEvents(rawValue: EPOLLPRI.rawValue)
    /// The peer closed its writing side.
    package static let peerHangUp = EpollEvents(rawValue: EPOLLRDHUP.rawValue)
    /// Reported whether asked for or not.
    package static let error = EpollEvents(rawValue: EPOLLERR.rawValue)
    /// Reported whether asked for or not.
    package static let hangUp = EpollEvents(rawValue: EPOLLHUP.rawValue)
    package static let edgeTriggered = EpollEvents(rawValue: EPOLLET.rawValue)
    package static let oneShot = EpollEvents(rawValue: EPOLLONESHOT.rawValue)
}

/// One descriptor of an epoll set that has something to tell.
package struct EpollReport: Hashable, Sendable {
    /// The token given when the descriptor was added.
    package var token: UInt64
    package var events: EpollEvents

    package init(token: UInt64, events: EpollEvents) {
        self.token = token
        self.events = events
    }
}

extension Linux {
    /// `epoll_create1(2)`.
    package static func epollCreate() throws(SystemError) -> FileDescriptor {
        try descriptor("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
    }

    /// `eventfd(2)`: readable once it was signalled.
    package static func eventDescriptor() throws(SystemError) -> FileDescriptor {
        try descriptor("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) }
    }

    /// Nothing happens to one that was signalled more often than can be counted, which is readable anyway.
    package static func signal(_ eventDescriptor: Int32) { eventfd_write(eventDescriptor, 1) }

    /// `epoll_ctl(2)`, EPOLL_CTL_ADD. EPERM: a regular file or a folder, which are always ready.
    package static func epollAdd(
        _ epoll: Int32, _ descriptor: Int32, _ events: EpollEvents, token: UInt64
    ) throws(SystemError) {
        try epollControl(epoll, EPOLL_CTL_ADD, descriptor, events, token)
    }

    /// `epoll_ctl(2)`, EPOLL_CTL_MOD. With no events only errors and hang-ups are reported.
    package static func epollModify(
        _ epoll: Int32, _ descriptor: Int32, _ events: EpollEvents, token: UInt64
    ) throws(SystemError) {
        try epollControl(epoll, EPOLL_CTL_MOD, descriptor, events, token)
    }

    /// `epoll_ctl(2)`, EPOLL_CTL_DEL. To be done before the descriptor is closed.
    package static func epollRemove(_ epoll: Int32, _ descriptor: Int32) throws(SystemError) {
        try epollControl(epoll, EPOLL_CTL_DEL, descriptor, [], 0)
    }

    /// `epoll_wait(2)`: at most `limit` reports; none when `timeout` ms have passed (-1: never; 0: at once).
    package static func epollWait(
        _ epoll: Int32, atMost limit: Int, timeout: Int32
    ) throws(SystemError) -> [EpollReport] {
        try withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: limit) { buffer throws(SystemError) in
            var remaining = RemainingTime(milliseconds: timeout)
            let count = try call("epoll_wait") {
                epoll_wait(epoll, buffer.baseAddress, Int32(limit), remaining.next())
            }
            return buffer.prefix(Int(count)).map {
                EpollReport(token: $0.data.u64, events: EpollEvents(rawValue: $0.events))
            }
        }
    }

    private static func epollControl(
        _ epoll: Int32, _ operation: Int32, _ descriptor: Int32, _ events: EpollEvents, _ token: UInt64
    ) throws(SystemError) {
        var event = epoll_event(events: events.rawValue, data: epoll_data(u64: token))
        try call("epoll_ctl") { epoll_ctl(epoll, operation, descriptor, &event) }
    }
}
