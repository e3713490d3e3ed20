import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// Signals are sent to one thread, for the threads of the test runner do not block them.
@Suite("Signals") struct SignalTests {
    @Test func aQueuedSignalKeepsSenderAndValue() {
        onThreads(1) { _ in
            Linux.blockSignals([SIGUSR1, 40])
            do {
                try readQueuedSignals()
            } catch {
                Issue.record(error)
            }
        }
    }

    @Test(.ownThreadChain) func whatWhoeverStartedTheProgramHasLeftIsTakenBackButForHandlers() async {
        await #expect(processExitsWith: .success) {
            Linux.ignoreSignal(SIGCHLD)
            Linux.ignoreSignal(40)
            signal(SIGUSR2) { _ in }
            Linux.blockSignals([SIGABRT, SIGTERM])
            Linux.takeOverSignals(blocking: [SIGUSR1])
            let status = String(decoding: try Linux.readFile("/proc/thread-self/status"), as: UTF8.self)
            precondition(status.contains("SigBlk:\t0000000000000200\n"), status)
            // 32 and 33 are the C library's own, and whoever starts a program by it may have left them ignored.
            let line = status.split(separator: "\n").first { $0.hasPrefix("SigIgn:\t") }
            let ignored = line.flatMap { UInt64($0.dropFirst(8), radix: 16) }
            precondition(ignored.map { $0 & ~0x1_8000_0000 } == 0, status)
            var action = sigaction()
            sigaction(SIGUSR2, nil, &action)
            precondition(action.__sigaction_handler.sa_handler != nil)
        }
    }

    private func readQueuedSignals() throws {
        try Linux.signalCreate([SIGUSR1, 40]).use { descriptor throws in
            #expect(try Linux.signalRead(descriptor) == [])
            pthread_kill(pthread_self(), SIGUSR1)
            try queue(40, value: 7)
            try queue(40, value: -8)
            let me = (Linux.processID, Linux.userID)
            #expect(
                try Linux.signalRead(descriptor) == [
                    SignalInfo(number: SIGUSR1, senderProcess: me.0, senderUser: me.1),
                    SignalInfo(number: 40, senderProcess: me.0, senderUser: me.1, value: 7),
                    SignalInfo(number: 40, senderProcess: me.0, senderUser: me.1, value: -8),
                ])
        }
    }

    @Test func theSignalsOfADescriptorCanBeChanged() {
        onThreads(1) { _ in
            Linux.blockSignals([SIGUSR1, SIGUSR2])
            do {
                try Linux.signalCreate([SIGUSR1]).use { descriptor throws in
                    pthread_kill(pthread_self(), SIGUSR2)
                    #expect(try Linux.signalRead(descriptor) == [])
                    try Linux.signalSet(descriptor, [SIGUSR2])
                    #expect(try Linux.signalRead(descriptor).map(\.number) == [SIGUSR2])
                }
            } catch {
                Issue.record(error)
            }
        }
    }

    @Test func theManagedSignalsLeaveFaultsAlone() {
        let managed = SignalSet.managed
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD, SIGQUIT, 34, 64] { #expect(managed.contains(signal)) }
        for signal in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT, SIGPIPE, SIGPROF, 9, 19, 32, 33] {
            #expect(!managed.contains(signal))
        }
    }

    @Test func aSetKnowsOnlySignals() {
        var set: SignalSet = [0, -1, 65, 1, 64]
        #expect(set.numbers == [1, 64])
        set.remove(1)
        set.remove(70)
        #expect(set == [64])
    }

    /// `pthread_sigqueue(3)`, which Swift's Glibc module does not show.
    private func queue(_ signal: Int32, value: Int) throws {
        typealias Function = @convention(c) (pthread_t, Int32, Int) -> Int32
        let symbol = try #require(dlsym(nil, "pthread_sigqueue"))
        #expect(unsafeBitCast(symbol, to: Function.self)(pthread_self(), signal, value) == 0)
    }
}
