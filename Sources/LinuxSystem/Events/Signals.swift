import CLinux
import Glibc

/// A signal, as `signalfd(2)` tells it.
package struct SignalInfo: Hashable, Sendable {
    package var number: Int32
    /// The sender; 0 when the kernel sent it.
    package var senderProcess: Int32
    package var senderUser: UInt32
    /// The value sent along by `sigqueue(3)`; `nil` for every other kind of signal.
    package var value: Int32?

    package init(number: Int32, senderProcess: Int32 = 0, senderUser: UInt32 = 0, value: Int32? = nil) {
        self.number = number
        self.senderProcess = senderProcess
        self.senderUser = senderUser
        self.value = value
    }

    init(_ info: signalfd_siginfo) {
        number = Int32(info.ssi_signo)
        let isSent = info.ssi_code <= 0  // SI_USER, SI_QUEUE, SI_TKILL …; above are the kernel's own
        senderProcess = isSent ? Int32(bitPattern: info.ssi_pid) : 0
        senderUser = isSent ? info.ssi_uid : 0
        value = info.ssi_code == Self.queued ? info.ssi_int : nil
    }

    /// SI_QUEUE.
    private static let queued: Int32 = -1
}

extension Linux {
    /// `signalfd(2)`, non-blocking. The signals must be blocked in every thread.
    package static func signalCreate(_ signals: SignalSet) throws(SystemError) -> FileDescriptor {
        var set = signals.sigset
        return try descriptor("signalfd") { signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK)) }
    }

    /// `signalfd(2)`: other signals for an existing descriptor; what is pending stays pending.
    package static func signalSet(_ descriptor: Int32, _ signals: SignalSet) throws(SystemError) {
        var set = signals.sigset
        try call("signalfd") { signalfd(descriptor, &set, 0) }
    }

    /// `read(2)` of a signal descriptor: what waits, at most `limit`; empty when there is nothing.
    package static func signalRead(_ descriptor: Int32, atMost limit: Int = 64) throws(SystemError) -> [SignalInfo] {
        do throws(SystemError) {
            return try withUnsafeTemporaryAllocation(of: signalfd_siginfo.self, capacity: limit) {
                buffer throws(SystemError) in
                let count = try read(descriptor, into: UnsafeMutableRawBufferPointer(buffer))
                return buffer.prefix(count / MemoryLayout<signalfd_siginfo>.stride).map { SignalInfo($0) }
            }
        } catch let error where error.errno == .wouldBlock {
            return []
        }
    }

    /// `pthread_sigmask(3)`: the calling thread, and those it starts, receive these signals no more.
    package static func blockSignals(_ signals: SignalSet) {
        var set = signals.sigset
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Ends what whoever started the program has left: what is ignored is at its default (an ignored SIGCHLD would take
    /// the end of every child away), and the calling thread, with those it starts, blocks these signals and no others.
    /// Handlers stay as they are. To be called before other threads exist.
    package static func takeOverSignals(blocking signals: SignalSet) {
        clinux_default_ignored_signals()
        var set = signals.sigset
        pthread_sigmask(SIG_SETMASK, &set, nil)
    }

    /// `signal(2)` with SIG_IGN, for the whole process. Children of `spawn` do not inherit it.
    package static func ignoreSignal(_ signal: Int32) { clinux_ignore_signal(signal) }

    /// `kill(2)`. ESRCH: no such process; EPERM: not ours. Signal 0 only asks.
    package static func kill(process: Int32, signal: Int32) throws(SystemError) {
        // 0 and negative numbers mean groups, or everybody.
        if process <= 0 { throw SystemError(call: "kill", detail: "\(process)", errno: .invalidArgument) }
        try call("kill", "\(process)") { Glibc.kill(process, signal) }
    }

    /// `killpg(3)`: every process of the group.
    package static func kill(group: Int32, signal: Int32) throws(SystemError) {
        // 1 is `kill(-1)`: everybody.
        if group <= 1 { throw SystemError(call: "killpg", detail: "\(group)", errno: .invalidArgument) }
        try call("killpg", "\(group)") { Glibc.killpg(group, signal) }
    }
}
