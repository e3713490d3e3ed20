import CSystemd
package import LinuxSystem

/// Talks to the service manager that started this process, if one did.
package enum Notifier {
    package enum Delivery: Hashable, Sendable {
        case sent
        /// No manager asked for it (`$NOTIFY_SOCKET` is not set).
        case notAsked
        /// Never a reason to stop.
        case failed(Errno)
    }

    /// `sd_notify(3)`. Blocks while the manager's queue is full (`net.unix.max_dgram_qlen`, often 10 datagrams), so
    /// never to be called on `watchd.core`.
    @discardableResult
    package static func send(_ notification: Notification) -> Delivery {
        switch sd_notify(0, notification.text) {
        case 0: .notAsked
        case let code where code < 0: .failed(Errno(-code))
        default: .sent
        }
    }
}
