import Glibc
import LinuxSystem
import ProgramKit
import Testing

@Suite("Processes") struct ProcessTests {
    /// Starts a shell that reads its standard input until that ends, then does what the script says.
    private func withChild(
        _ script: String, _ body: (_ process: Int32, _ pidfd: Int32, _ end: () -> Void) throws -> Void
    )
        throws
    {
        let pipe = try Linux.pipe()
        let output = try Linux.open("/dev/null", .readingAndWriting)
        let process = try Linux.spawn(
            SpawnSpecification(
                path: "/bin/sh".pathBytes, arguments: ["sh", "-c", "read line; " + script].map(\.pathBytes),
                descriptors: [pipe.readEnd.rawValue, output.rawValue, output.rawValue]))
        pipe.readEnd.close()
        output.close()
        let processID = process.processID
        let input = pipe.writeEnd.release()
        var isOpen = true
        func end() {
            if isOpen { FileDescriptor(owning: input).close() }
            isOpen = false
        }
        try process.pidfd.use { pidfd throws in
            defer {
                try? Linux.kill(group: processID, signal: SIGKILL)
                end()
                _ = try? Linux.waitUntilEnd(pidfd)
            }
            try body(processID, pidfd, end)
        }
    }

    @Test func theEndOfAChildIsTold() throws {
        try withChild("exit 300") { process, pidfd, end throws in
            #expect(try Linux.wait(pidfd) == nil)
            #expect(try Linux.poll(pidfd, .readable, timeout: 0) == [])
            end()
            #expect(try Linux.poll(pidfd, .readable, timeout: 10_000).contains(.readable))
            #expect(try Linux.wait(pidfd, keeping: true) == .exited(44))
            #expect(try Linux.wait(pidfd) == .exited(44))
            let error = #expect(throws: SystemError.self) { try Linux.wait(pidfd) }
            #expect(error?.errno == .noChild)
        }
    }

    /// Bytes: the most that this process has had.
    private var ownPeak: Int {
        let status = (try? Linux.readFile("/proc/self/status", limit: 1 << 16)) ?? []
        let mark = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (Int(mark?.split(separator: " ").dropFirst().first ?? "") ?? 0) * 1024
    }

    @Test func whatAChildHasUsedIsToldWithItsEnd() throws {
        // The kernel hides a peak below that of this process, and tests beside this one may have raised it.
        try wait(for: "a child with more than this process", seconds: 120) {
            let bytes = ownPeak + (64 << 20)
            // `tail` keeps them all, and the shell waits for it.
            let script = "[ $(head -c \(bytes) /dev/zero | tail -c \(bytes) | wc -c) = \(bytes) ]; exit"
            var isKnown = false
            try withChild(script) { process, pidfd, end throws in
                #expect(try Linux.reap(pidfd) == nil)
                end()
                #expect(try Linux.poll(pidfd, .readable, timeout: 60_000).contains(.readable))
                let (status, used) = try #require(try Linux.reap(pidfd))
                #expect(status == .exited(0) && used.processorTime > 1000)
                isKnown = ownPeak < bytes
                if isKnown { #expect(used.peakMemory ?? 0 >= UInt64(bytes), "\(used) \(bytes)") }
            }
            return isKnown
        }
        // No more than what this process has: the kernel counts that as the child's.
        try withChild("exit 0") { process, pidfd, end throws in
            end()
            #expect(try Linux.poll(pidfd, .readable, timeout: 60_000).contains(.readable))
            let reaped = try #require(try Linux.reap(pidfd))
            #expect(reaped.used.peakMemory == nil)
        }
    }

    @Test func aSignalThatKilledAChildIsTold() throws {
        try withChild("exit 0") { process, pidfd, end throws in
            try Linux.pidfdSendSignal(pidfd, SIGTERM)
            #expect(try Linux.waitUntilEnd(pidfd) == .signaled(SIGTERM, core: false))
        }
    }

    @Test func aProcessIsGoneWhenItHasEndedWhetherItWasWaitedForOrNot() throws {
        try withChild("exit 0") { process, pidfd, end throws in
            #expect(!Linux.isGone(process: process) && !Linux.isGone(process: 0))
            #expect(Linux.livingHolder { process } == process)
            end()
            #expect(try Linux.poll(pidfd, .readable, timeout: 10_000).contains(.readable))
            #expect(Linux.isGone(process: process))
            _ = try Linux.wait(pidfd)
            #expect(Linux.isGone(process: process))
        }
    }

    @Test func whoIsGoneHoldsNothingForLong() throws {
        try withChild("exit 0") { process, pidfd, end throws in
            end()
            _ = try Linux.waitUntilEnd(pidfd)
            var asked = 0
            let holder = Linux.livingHolder {
                asked += 1
                return asked < 4 ? process : nil
            }
            #expect(holder == nil && asked == 4)
        }
    }

    @Test func aDescriptorOfAnEndedProcessIsStaleForEver() throws {
        try withChild("exit 3") { process, pidfd, end throws in
            let other = try Linux.pidfdOpen(process)
            end()
            #expect(try Linux.waitUntilEnd(pidfd) == .exited(3))
            try other.use { other throws in
                let error = #expect(throws: SystemError.self) { try Linux.pidfdSendSignal(other, 0) }
                #expect(error?.errno == .noSuchProcess)
                do throws(SystemError) {
                    #expect(try Linux.pidfdInfo(other).exit == .exited(3))
                } catch {
                    // Linux before 6.15 does not know how it ended, before 6.13 not even the question.
                    #expect([.noSuchProcess, Errno(ENOTTY), .invalidArgument].contains(error.errno))
                }
            }
            let error = #expect(throws: SystemError.self) { try Linux.pidfdOpen(process).close() }
            #expect(error?.errno == .noSuchProcess)
        }
    }

    @Test func numbersThatAreNoProcessAreErrors() {
        for number: Int32 in [0, -1, .min] {
            #expect(throws: SystemError.self) { try Linux.pidfdOpen(number).close() }
            #expect(throws: SystemError.self) { try Linux.kill(process: number, signal: 0) }
            #expect(throws: SystemError.self) { try Linux.kill(group: number, signal: 0) }
        }
        #expect(throws: SystemError.self) { try Linux.kill(group: 1, signal: 0) }
        let error = #expect(throws: SystemError.self) { try Linux.kill(process: .max, signal: 0) }
        #expect(error?.description == "kill 2147483647: No such process (ESRCH)")
    }

    @Test func aProcessThatIsNotOursCanBeWatchedButNotWaitedFor() throws {
        let parent = try Linux.pidfdOpen(getppid())
        try parent.use { parent throws in
            #expect(try Linux.poll(parent, .readable, timeout: 0) == [])
            let error = #expect(throws: SystemError.self) { try Linux.wait(parent) }
            #expect(error?.errno == .noChild)
        }
    }

    @Test func aGroupIsKilledAsAWhole() throws {
        let pipe = try Linux.pipe()
        let process = try Linux.spawn(
            SpawnSpecification(
                path: "/bin/sh".pathBytes, arguments: ["sh", "-c", "sleep 1000 & echo started; wait"].map(\.pathBytes),
                descriptors: [pipe.writeEnd.rawValue, pipe.writeEnd.rawValue, pipe.writeEnd.rawValue]))
        pipe.writeEnd.close()
        let processID = process.processID
        let output = pipe.readEnd.release()
        try process.pidfd.use { pidfd throws in
            #expect(try Linux.read(output, atMost: 100) == "started\n".pathBytes)
            try Linux.kill(group: processID, signal: SIGKILL)
            // The grandchild holds the pipe open while it lives.
            #expect(try Linux.poll(output, .readable, timeout: 10_000) == .hangUp)
            #expect(try Linux.waitUntilEnd(pidfd) == .signaled(SIGKILL, core: false))
        }
        FileDescriptor(owning: output).close()
    }

    @Test func waitStatusesAreDecoded() {
        #expect(ExitStatus(waitStatus: 0x2A00) == .exited(42))
        #expect(ExitStatus(waitStatus: 9) == .signaled(9, core: false))
        #expect(ExitStatus(waitStatus: 0x86) == .signaled(6, core: true))
        #expect("\(ExitStatus.exited(3)), \(ExitStatus.signaled(11, core: true))" == "exit 3, signal 11, core dumped")
    }
}
