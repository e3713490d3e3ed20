import CLinux
import Glibc

/// How a process ended.
package enum ExitStatus: Hashable, Sendable, CustomStringConvertible {
    case exited(Int32)
    case signaled(Int32, core: Bool)

    /// A wait status, as `wait(2)` encodes it.
    package init(waitStatus: Int32) {
        let signal = waitStatus & 0x7F
        self = signal == 0 ? .exited((waitStatus >> 8) & 0xFF) : .signaled(signal, core: waitStatus & 0x80 != 0)
    }

    /// `exit 3`, `signal 9`.
    package var description: String {
        switch self {
        case .exited(let code): "exit \(code)"
        case .signaled(let signal, let core): core ? "signal \(signal), core dumped" : "signal \(signal)"
        }
    }
}

/// The properties of a process by PIDFD_GET_INFO.
package struct PidfdInfo: Hashable, Sendable {
    /// 0 when the process is gone.
    package var processID: Int32
    package var parentID: Int32
    /// How it ended, once its parent has waited for it (Linux 6.15; before, never told).
    package var exit: ExitStatus?
}

/// The resources used by a process that has ended, and by its children that were waited for (`getrusage(2)`).
package struct ProcessUsage: Hashable, Sendable {
    /// Microseconds.
    package var processorTime: UInt64
    /// Bytes: of that one of them that had the most. `nil`: no more than this process has had itself, which the kernel
    /// takes for theirs.
    package var peakMemory: UInt64?
    /// Bytes from and to block devices.
    package var bytesRead: UInt64
    package var bytesWritten: UInt64

    fileprivate init(_ used: clinux_usage) {
        (processorTime, peakMemory) = (used.processor_usec, used.peak_memory == 0 ? nil : used.peak_memory)
        (bytesRead, bytesWritten) = (used.read, used.written)
    }
}

extension Linux {
    /// `pidfd_open(2)`: a descriptor of a process, ours or not, readable when it has ended. ESRCH: no such process;
    /// EINVAL: not a process (a thread, or not a positive number).
    package static func pidfdOpen(_ process: Int32) throws(SystemError) -> FileDescriptor {
        try descriptor("pidfd_open", "\(process)") { clinux_pidfd_open(process) }
    }

    /// No process has this number, or one that has ended and was not waited for. False for 0, which stands for a
    /// process that cannot be seen from here.
    package static func isGone(process: Int32) -> Bool {
        guard process > 0 else { return false }
        do throws(SystemError) {
            return try pidfdOpen(process).use { pidfd throws(SystemError) in
                try !poll(pidfd, .readable, timeout: 0).isEmpty
            }
        } catch {
            return error.errno == Errno(ESRCH)
        }
    }

    /// The holder of a thing that only one process may hold. While `holder` names one that is gone, it is asked again,
    /// for up to 2 s: a child that was just being spawned has a copy of all its parent's descriptors until it executes
    /// its program.
    package static func livingHolder<Failure: Error>(_ holder: () throws(Failure) -> Int32?) throws(Failure) -> Int32? {
        let deadline = now(.monotonic) + 2_000_000
        while true {
            guard let process = try holder() else { return nil }
            if !isGone(process: process) || now(.monotonic) >= deadline { return process }
            _ = try? poll([], timeout: 2)
        }
    }

    /// `pidfd_send_signal(2)`: to this very process, never to a later one of its number. ESRCH: it has ended.
    package static func pidfdSendSignal(_ pidfd: Int32, _ signal: Int32) throws(SystemError) {
        try call("pidfd_send_signal") { clinux_pidfd_send_signal(pidfd, signal) }
    }

    /// `ioctl(2)` PIDFD_GET_INFO (Linux 6.13). ESRCH: the process is gone and nothing is known of its end.
    package static func pidfdInfo(_ pidfd: Int32) throws(SystemError) -> PidfdInfo {
        var info = clinux_pidfd_info()
        info.mask = UInt64(CLINUX_PIDFD_INFO_PID | CLINUX_PIDFD_INFO_EXIT)
        try call("ioctl PIDFD_GET_INFO") { clinux_pidfd_get_info(pidfd, &info) }
        let hasExit = info.mask & UInt64(CLINUX_PIDFD_INFO_EXIT) != 0
        return PidfdInfo(
            processID: Int32(bitPattern: info.pid), parentID: Int32(bitPattern: info.parent_pid),
            exit: hasExit ? ExitStatus(waitStatus: info.exit_code) : nil)
    }

    /// `waitid(2)` of a child by its descriptor, without waiting: how it ended, or `nil` while it lives. ECHILD: not
    /// our child, or waited for before.
    ///
    /// - Parameter keeping: leaves the child to be waited for again (WNOWAIT), so that its number stays taken.
    package static func wait(_ pidfd: Int32, keeping: Bool = false) throws(SystemError) -> ExitStatus? {
        try wait(pidfd, options: WNOHANG | (keeping ? WNOWAIT : 0))
    }

    /// `waitid(2)` of a child by its descriptor: blocks until it has ended.
    package static func waitUntilEnd(_ pidfd: Int32) throws(SystemError) -> ExitStatus {
        while true { if let status = try wait(pidfd, options: 0) { return status } }
    }

    /// As `wait`, with what the child and those that it has waited for have used.
    package static func reap(_ pidfd: Int32) throws(SystemError) -> (status: ExitStatus, used: ProcessUsage)? {
        var code: Int32 = 0
        var status: Int32 = 0
        var used = clinux_usage()
        try call("waitid") { clinux_reap_pidfd(pidfd, &code, &status, &used) }
        return exitStatus(code, status).map { ($0, ProcessUsage(used)) }
    }

    private static func wait(_ pidfd: Int32, options: Int32) throws(SystemError) -> ExitStatus? {
        var code: Int32 = 0
        var status: Int32 = 0
        try call("waitid") { clinux_waitid_pidfd(pidfd, WEXITED | options, &code, &status) }
        return exitStatus(code, status)
    }

    private static func exitStatus(_ code: Int32, _ status: Int32) -> ExitStatus? {
        switch Int(code) {
        case 0: nil
        case Int(CLD_EXITED): .exited(status)
        default: .signaled(status, core: Int(code) == Int(CLD_DUMPED))
        }
    }
}
