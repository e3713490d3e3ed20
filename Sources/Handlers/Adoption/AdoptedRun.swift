import Engine
import EventSources
import Glibc
import LinuxSystem
import WatchFile

/// A run whose process an earlier watchd started. It is not our child: its end is seen from its pidfd, and how it ended
/// where anybody tells (`WatchedProcess`). Confined to the core.
final class AdoptedRun: OngoingRun {
    private let request: AdoptRequest
    private let environment: RunEnvironment
    private let ended: () -> Void
    private var process: WatchedProcess?
    private var output: OutputCapture?
    private var group: ProcessGroup?
    private var leaf: ControlGroup?
    private var leafEnd: LeafEnd?
    private var usage = ResourceUsage()
    private var isEnding = false
    private var isFound = false
    /// It had ended before it was found.
    private var hadEnded = false
    /// While watchd was down nobody kept the other end of its output.
    private var wasUnread = false
    /// Its descriptors in the service manager's store.
    private var keptNames: [KeptDescriptor] = []

    init(_ request: AdoptRequest, _ environment: RunEnvironment, ended: @escaping () -> Void) {
        self.request = request
        self.environment = environment
        self.ended = ended
    }

    var name: String { request.run.name(of: definition) }
    var delay: String? { nil }
    func tryNow() {}
    /// Since it was found.
    var outputSoFar: RunOutput {
        var soFar = output?.soFar ?? RunOutput()
        soFar.lacksBeginning = usage.lacksBeginning
        return soFar
    }
    private var definition: HandlerDefinition { request.definition.value }

    /// Watches the process; one that is gone has ended, nobody knows how.
    func begin(pidfd: consuming FileDescriptor?, output: consuming FileDescriptor?) {
        leaf = environment.containment.living(request.run)
        if let leaf { environment.containment.restore(definition.contract.resources, on: leaf, of: definition.name) }
        usage.lacksBeginning = isWritingToWatchd || isOfJobs
        wasUnread = isWritingToWatchd && output.number == nil
        if pidfd.number != nil { keptNames.append(.pidfd(request.run)) }
        if let output {
            keptNames.append(.output(request.run))
            capture(output)
        }
        do throws(SystemError) {
            let process = try watch(pidfd)
            self.process = process
            isFound = true
            hadEnded = process.number.map { (try? Linux.poll($0, .readable, timeout: 0).isEmpty) == false } ?? false
        } catch {
            return finish(nil)
        }
        if self.output == nil, let found = findOutput() { capture(found) }
    }

    private func watch(_ stored: consuming FileDescriptor?) throws(SystemError) -> WatchedProcess {
        let pid = request.pid
        let descriptor: FileDescriptor
        if let stored {
            descriptor = stored
        } else {
            descriptor = try Linux.pidfdOpen(pid)
            // Looked at when the number cannot change hands any more.
            guard isOfThisRun(pid) else {
                descriptor.close()
                throw SystemError(call: "pidfd_open", detail: "\(pid)", errno: .noSuchProcess)
            }
        }
        return try WatchedProcess(pid, descriptor, on: environment.core, epoll: environment.epoll) {
            [weak self] in self?.processEnded($0)
        }
    }

    /// By now the number may be another process's.
    private func isOfThisRun(_ pid: Int32) -> Bool {
        guard let place = Linux.place(of: pid) else { return false }
        if let born = request.born { return place.started == born }
        // Neither shows its environment: one that starts another (`vfork(2)`) may be held up for long.
        if let started = request.started, place.isZombie || place.isStuck {
            return AdoptableProcess.isLeader(pid, place, startedAt: started)
        }
        // At that moment the number was its own, and it was started before. (Ticks of a hundredth of a second.)
        if let seen = request.seen { return place.started <= seen }
        return AdoptableProcess(pid, place, instance: environment.instance())?.run == request.run
    }

    func giveUp() {}

    func signal(_ number: Int32, _ mode: KillMode) {
        // ESRCH: it has just ended, which its pidfd tells next.
        switch mode {
        case .tree:
            isEnding = true
            try? Linux.kill(group: request.pid, signal: number)
            guard let leaf else { break }
            if number == SIGKILL, let leafEnd { return leafEnd.kill() }
            environment.slow.submit("a signal to \(name)") { [leader = request.pid] in
                if number == SIGKILL { leaf.kill() } else { leaf.signal(number, but: leader) }
            }
        case .process:
            if let pidfd = process?.number { try? Linux.pidfdSendSignal(pidfd, number) }
        case .none: break
        }
    }

    func keep() {
        if let number = process?.number { keep(.pidfd(request.run), number) }
        if let number = output?.number { keep(.output(request.run), number) }
    }

    private func keep(_ name: KeptDescriptor, _ number: Int32) {
        environment.keep(name, number)
        if !keptNames.contains(name) { keptNames.append(name) }
    }

    // MARK: Output

    private var isWritingToWatchd: Bool {
        definition.isCommand && (definition.standardOutput == .journal || definition.standardError == .journal)
    }

    /// Its lines are what the service manager has told, and nothing of it is there to be found.
    private var isOfJobs: Bool { if case .unit = definition.action { true } else { false } }

    /// Another end of the pipe that it writes into: with none it would die of SIGPIPE. Only a pipe that watchd made,
    /// and not what was inherited or named.
    private func findOutput() -> FileDescriptor? {
        let number = definition.standardOutput == .journal ? 1 : definition.standardError == .journal ? 2 : nil
        guard let number else { return nil }
        let path = "/proc/\(request.pid)/fd/\(number)"
        guard let target = try? Linux.readlink(path), target.starts(with: "pipe:".utf8) else { return nil }
        return try? Linux.open(path, [.reading, .nonBlocking])
    }

    private func capture(_ descriptor: consuming FileDescriptor) {
        try? Linux.setNonBlocking(descriptor.rawValue)
        output = OutputCapture(
            descriptor, of: request.run, whose: definition.name, fields: request.run.logFields(of: definition),
            environment)
        environment.send(.runUsed(request.run, usage))
    }

    // MARK: End

    private func processEnded(_ exit: Exit?) {
        process?.cancel()
        process = nil
        if let leaf { return ended(exit, in: leaf) }
        guard isEnding else { return finish(exit) }
        // It was asked to end, and so was everybody of its group.
        let group = ProcessGroup(leader: request.pid, in: environment) { [weak self] in self?.finish(exit) }
        self.group = group
        group.look()
    }

    private func ended(_ exit: Exit?, in leaf: ControlGroup) {
        let end = LeafEnd(
            leaf, of: name, in: environment, ends: definition.killMode == .tree, kills: !isEnding
        ) { [weak self] usage in
            self?.usage.add(usage)
            self?.finish(exit)
        }
        leafEnd = end
        end.look()
    }

    private func finish(_ exit: Exit?) {
        (leaf, leafEnd) = (nil, nil)
        group = nil
        for name in keptNames { environment.forget(name) }
        environment.forgetCredentials(of: request.run, definition)
        let end = output?.runEnded().end ?? []
        let (known, reason) = judged(exit)
        ended()
        if usage.isKnown { environment.send(.runUsed(request.run, usage)) }
        environment.send(.runEnded(request.run, known, output: end, reason: reason))
    }

    /// The end of the run, as far as it is known. A kill of watchd with all its processes, as by `systemctl kill`, says
    /// nothing of the run, nor does a signal (or, of a shell, its status) that it gets because watchd was killed. One of several commands that succeeded may have been any of them.
    private func judged(_ exit: Exit?) -> (exit: Exit?, reason: String?) {
        // Of what a service manager does, only a condition is a process of watchd.
        if isFound, definition.isDoneByManager, !definition.conditions.commands.isEmpty {
            return (nil, "watchd was restarted while it asked ExecCondition=, so nothing was done")
        }
        guard let exit else { return (nil, "watchd was restarted while it ran, and how it ended is not known") }
        // A supervised process is started again in any case: its end is told as it was.
        if request.seen != nil { return (exit, nil) }
        if hadEnded, case .signaled(let number) = exit, [SIGKILL, SIGTERM].contains(number) {
            return (nil, "ended by \(LinuxSignal.name(number)) while watchd was down")
        }
        if hadEnded, wasUnread, [.signaled(SIGPIPE), .exited(128 + SIGPIPE)].contains(exit) {
            return (nil, "ended by SIGPIPE while watchd was down, as nobody read its output")
        }
        let count = definition.commandCount
        // The end of an `ExecCondition=` says nothing of the run.
        let isTold = definition.conditions.commands.isEmpty && !definition.isSuccess(exit)
        // A worker is one process.
        guard definition.stream != nil || definition.isCommand && (count == 1 || isTold) else {
            return (
                nil, "watchd was restarted while it ran, and which of its \(count) commands ended is not known"
            )
        }
        return (exit, nil)
    }
}

extension HandlerDefinition {
    /// A service manager does its work: `Unit=`, `RunIn=unit`.
    fileprivate var isDoneByManager: Bool { if case .unit = action { true } else { placement != nil } }
}
