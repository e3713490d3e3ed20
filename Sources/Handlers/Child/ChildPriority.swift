package import LinuxSystem
package import WatchFile

/// How urgent a queue's children are: its effective `QoS=` as nice value and I/O priority, relative to the daemon's
/// own, and never more urgent than that.
///
/// | `QoS=`                                        | nice | I/O                                   |
/// |-----------------------------------------------|------|---------------------------------------|
/// | `user-interactive` `user-initiated` `default` | +0   | the daemon's                          |
/// | `utility`                                     | +5   | best effort 6, the lowest but one     |
/// | `background`                                  | +10  | idle: when nobody else wants the disk |
///
/// Classes above `default` come first in the order of queues only: a negative nice value needs a privilege, and would
/// put handlers before the daemon that starts them.
package struct ChildPriority: Equatable, Sendable {
    /// Absolute; the kernel takes what is above 19 as 19.
    package var nice: Int32
    /// `nil`: the daemon's.
    package var io: IOPriority?

    package init(nice: Int32, io: IOPriority?) {
        self.nice = nice
        self.io = io
    }

    /// - Parameters:
    ///   - nice: the daemon's own at its start.
    ///   - io: the daemon's own; few ask for it.
    package init(_ qos: QoS, nice: Int32, io: @autoclosure () -> IOPriority) {
        let wanted: (nice: Int32, io: IOPriority?) =
            switch qos {
            case .userInteractive, .userInitiated, .default: (0, nil)
            case .utility: (5, .bestEffort(6))
            case .background: (10, .idle)
            }
        self.nice = nice + wanted.nice
        self.io = wanted.io.map { min($0, io()) }
    }
}
