import CLinux

/// What the kernel's process connector tells. Of the threads of a process only the first one counts.
package enum ProcessReport: Hashable, Sendable {
    /// The answer to the subscription; `nil`: it holds.
    case acknowledged(Errno?)
    case forked(Int32, parent: Int32)
    case executed(Int32)
    case dumpedCore(Int32)
    case ended(Int32, ExitStatus)
}

extension Linux {
    /// A netlink socket of the process connector (CONFIG_PROC_EVENTS), non-blocking, which is told what every process of
    /// the machine does from now on. EPERM: not without CAP_NET_ADMIN. EPROTONOSUPPORT: the kernel has none. A process
    /// outside the first pid or user namespace is not even answered.
    ///
    /// - Parameter buffer: bytes that the kernel keeps for a slow reader.
    package static func processConnector(buffer: Int) throws(SystemError) -> FileDescriptor {
        try descriptor("socket NETLINK_CONNECTOR") { clinux_process_connector(Int32(clamping: buffer)) }
    }

    /// The next report; `nil`: there is none now. ENOBUFS: the reader was too slow, and the kernel has dropped some.
    package static func processReport(_ connector: Int32) throws(SystemError) -> ProcessReport? {
        var event = clinux_process_event()
        do throws(SystemError) {
            try call("recvfrom") { clinux_process_event(connector, &event) }
        } catch let error where error.errno == .wouldBlock {
            return nil
        }
        return switch UInt32(event.kind) {
        case CLINUX_PROCESS_FORKED.rawValue: .forked(event.process, parent: event.parent)
        case CLINUX_PROCESS_EXECUTED.rawValue: .executed(event.process)
        case CLINUX_PROCESS_DUMPED.rawValue: .dumpedCore(event.process)
        case CLINUX_PROCESS_ENDED.rawValue: .ended(event.process, ExitStatus(waitStatus: event.status))
        default: .acknowledged(event.status == 0 ? nil : Errno(event.status))
        }
    }

    /// The path of a process's executable, from `/proc/PID/exe`; never waits for the process. `nil`: there is no such
    /// process (any more), it is a thread of the kernel, or it may not be looked at.
    package static func executable(of process: Int32) -> [UInt8]? {
        guard let path = try? readlink("/proc/\(process)/exe") else { return nil }
        let deleted = Array(" (deleted)".utf8)
        return path.count > deleted.count && path.suffix(deleted.count).elementsEqual(deleted)
            ? Array(path.dropLast(deleted.count)) : path
    }
}
