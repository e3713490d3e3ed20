import CLinux

/// A report of the kernel's process connector. Of the threads of a process only the first one counts.
package enum ProcessReport: Hashable, Sendable {
    /// The answer to the subscription; `nil`: it holds.
    case acknowledged(Errno?)
    case forked(Int32, parent: Int32)
    /// `at`: when, in monotonic microseconds. Its executable is the new one by then (`begin_new_exec` in `fs/exec.c`).
    case executed(Int32, at: Int64)
    case dumpedCore(Int32)
    case ended(Int32, ExitStatus)
}

/// Whether reports are missing. The kernel numbers them on each processor (`send_msg` in
/// `drivers/connector/cn_proc.c`), and says ENOBUFS only once until all that it has kept is read, nor when it had no
/// memory for a report.
package struct ProcessReportNumbers: Sendable {
    private var last: [UInt32: UInt32] = [:]
    private var hasGap = false

    package init() {}

    package mutating func take(_ number: UInt32, on processor: UInt32) {
        guard processor != .max else { return }
        if let before = last.updateValue(number, forKey: processor), number != before &+ 1 { hasGap = true }
    }

    /// Whether some are missing before those that were read since this was asked last.
    package mutating func takeGap() -> Bool {
        defer { hasGap = false }
        return hasGap
    }
}

extension Linux {
    /// A netlink socket of the process connector (CONFIG_PROC_EVENTS), non-blocking, which is told what every process
    /// of the machine does from now on. EPERM: not without CAP_NET_ADMIN. EPROTONOSUPPORT: the kernel has none. A
    /// process outside the first pid or user namespace is not even answered.
    ///
    /// - Parameter buffer: bytes that the kernel keeps for a slow reader.
    package static func processConnector(buffer: Int) throws(SystemError) -> FileDescriptor {
        try descriptor("socket NETLINK_CONNECTOR") { clinux_process_connector(Int32(clamping: buffer)) }
    }

    /// The next report; `nil`: there is none now. ENOBUFS: the reader was too slow, and the kernel has dropped some.
    ///
    /// - Parameter numbers: of this connector; tells what else is missing.
    package static func processReport(
        _ connector: Int32, _ numbers: inout ProcessReportNumbers
    ) throws(SystemError) -> ProcessReport? {
        var event = clinux_process_event()
        repeat {
            do throws(SystemError) {
                try call("recvfrom") { clinux_process_event(connector, &event) }
            } catch let error where error.errno == .wouldBlock {
                return nil
            }
            numbers.take(event.number, on: event.processor)
        } while UInt32(event.kind) == CLINUX_PROCESS_OTHER.rawValue
        return switch UInt32(event.kind) {
        case CLINUX_PROCESS_FORKED.rawValue: .forked(event.process, parent: event.parent)
        case CLINUX_PROCESS_EXECUTED.rawValue: .executed(event.process, at: event.at)
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
