import Glibc

/// Signals, by number from 1 to 64.
package struct SignalSet: Hashable, Sendable, ExpressibleByArrayLiteral {
    private var bits: UInt64 = 0

    package init(arrayLiteral signals: Int32...) { self.init(signals) }

    package init(_ signals: some Sequence<Int32>) { for signal in signals { insert(signal) } }

    package var numbers: [Int32] { (1...64).filter(contains) }

    package func contains(_ signal: Int32) -> Bool {
        (1...64).contains(signal) && bits & (1 << UInt64(signal - 1)) != 0
    }

    /// A number that is no signal is ignored.
    package mutating func insert(_ signal: Int32) {
        if (1...64).contains(signal) { bits |= 1 << UInt64(signal - 1) }
    }

    package mutating func remove(_ signal: Int32) {
        if (1...64).contains(signal) { bits &= ~(1 << UInt64(signal - 1)) }
    }

    /// The signals that the main thread blocks before the first other thread starts: all but the faults that the
    /// program itself causes, ABRT, PIPE and PROF, and those that cannot be blocked (KILL, STOP, glibc's own 32 and
    /// 33).
    package static let managed: SignalSet = {
        var all = SignalSet(1...64)
        for signal in [SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGABRT, SIGPIPE, SIGPROF] {
            all.remove(signal)
        }
        for signal in [SIGKILL, SIGSTOP, 32, 33] { all.remove(signal) }
        return all
    }()

    /// glibc leaves out its own two.
    var sigset: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        return set
    }
}
