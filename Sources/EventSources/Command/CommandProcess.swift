import LinuxSystem
import WatchFile

/// Starts the command of a source; blocks as reading its file does.
struct CommandStart: Sendable {
    struct Failure: Error {
        var reason: String
    }

    /// The descriptors are the receiver's to close; all are non-blocking.
    struct Started: Sendable {
        var processID: Int32
        var pidfd: Int32
        var output: Int32
        var errors: Int32
        /// Settings that were passed over.
        var warnings: [String]
    }

    private let id: SourceID
    private let words: [[UInt8]]
    private let launch: CommandLaunch

    init(_ command: Command, of id: SourceID, _ launch: CommandLaunch) {
        self.id = id
        self.launch = launch
        words = Self.words(command)
    }

    /// Without specifiers, as the file was checked.
    private static func words(_ command: Command) -> [[UInt8]] {
        command.words.map { word -> [UInt8] in
            if case .template(let template) = word { template.expanded { _ in [] } } else { [] }
        }
    }

    /// Its file; `nil`: it is looked for in `PATH`.
    static func program(_ command: Command) -> [UInt8]? {
        words(command).first.flatMap { $0.first == UInt8(ascii: "/") ? $0 : nil }
    }

    /// - Parameter instance: by it a later watchd finds the process and ends it.
    func run(_ instance: InstanceName) throws(Failure) -> Started {
        let surroundings: LaunchSurroundings
        do throws(LaunchFailure) {
            surroundings = try LaunchSurroundings(launch.contract)
        } catch {
            throw Failure(reason: error.reason)
        }
        do {
            let input = try Linux.open("/dev/null")
            let ends: Ends
            do throws(SystemError) {
                ends = try pipes()
            } catch {
                input.close()
                throw error
            }
            return try start(surroundings, instance, input, ends.output, ends.errors).get()
        } catch let error as Failure {
            throw error
        } catch {
            throw Failure(reason: "\(error)")
        }
    }

    private typealias Ends = (output: (read: Int32, write: Int32), errors: (read: Int32, write: Int32))

    private func pipes() throws(SystemError) -> Ends {
        let output = try Linux.pipe().split()
        do throws(SystemError) {
            let errors = try Linux.pipe().split()
            try Linux.setNonBlocking(output.read)
            try Linux.setNonBlocking(errors.read)
            return (output, errors)
        } catch {
            for number in [output.read, output.write] { FileDescriptor(owning: number).close() }
            throw error
        }
    }

    private func start(
        _ surroundings: LaunchSurroundings, _ instance: InstanceName, _ input: consuming FileDescriptor,
        _ output: (read: Int32, write: Int32), _ errors: (read: Int32, write: Int32)
    ) -> Swift.Result<Started, Failure> {
        let number = input.rawValue
        defer { for end in [output.write, errors.write] { FileDescriptor(owning: end).close() } }
        // So that the user it becomes may open /dev/stdout and /dev/stderr, which lead here.
        for end in [output.write, errors.write] {
            guard let identity = surroundings.identity else { break }
            try? Linux.fchown(end, user: identity.user, group: identity.group)
        }
        let environment = environment(surroundings, instance)
        var specification = SpawnSpecification(
            path: path(environment), arguments: words,
            environment: environment.map { Array($0.name.utf8) + [UInt8(ascii: "=")] + $0.value },
            folder: surroundings.home ?? launch.workingDirectory ?? [UInt8(ascii: "/")],
            descriptors: [number, output.write, errors.write])
        specification.take(launch.contract, surroundings)
        do throws(SpawnError) {
            let spawned = try Linux.spawn(specification)
            input.close()
            let processID = spawned.processID
            return .success(
                Started(
                    processID: processID, pidfd: spawned.pidfd.release(), output: output.read, errors: errors.read,
                    warnings: surroundings.warnings))
        } catch {
            input.close()
            for end in [output.read, errors.read] { FileDescriptor(owning: end).close() }
            return .failure(
                Failure(reason: ["\(error)", error.missingPrivilege].compactMap { $0 }.joined(separator: "; ")))
        }
    }

    private func environment(
        _ surroundings: LaunchSurroundings, _ instance: InstanceName
    ) -> [EnvironmentVariable] {
        var values = [
            EnvironmentVariable(name: "PATH", value: Array(Command.searchPath.utf8)),
            EnvironmentVariable(name: "LANG", value: Linux.environment("LANG") ?? Array("C.UTF-8".utf8)),
        ]
        for variable in surroundings.inherited + launch.environment + surroundings.files {
            values.removeAll { $0.name == variable.name }
            values.append(variable)
        }
        if instance != .none {
            let name = instance.of(user: surroundings.identity?.user ?? Linux.effectiveUserID)
            values.append(EnvironmentVariable(name: "WATCHD_INSTANCE", value: Array(name.utf8)))
            values.append(EnvironmentVariable(name: "WATCHD_COMMAND", value: Array(id.description.utf8)))
        }
        return values
    }

    /// A name without a slash is looked for as `execvp(3)` does.
    private func path(_ environment: [EnvironmentVariable]) -> [UInt8] {
        let name = words.first ?? []
        if name.contains(UInt8(ascii: "/")) { return name }
        let places = environment.first { $0.name == "PATH" }?.value.split(separator: UInt8(ascii: ":")) ?? []
        let candidates = places.map { Array($0) + [UInt8(ascii: "/")] + name }
        return candidates.first { (try? Linux.access($0, .executing)) != nil } ?? name
    }
}

/// The command of a source while it runs; what it says on standard error goes to the log. It lives until the process
/// has been waited for. Confined to its context.
final class CommandProcess {
    /// From SIGTERM to SIGKILL, in microseconds: as the default of `TimeoutStopSec=`.
    static let patience = 10_000_000

    private let processID: Int32
    private let environment: SourceEnvironment
    private var pidfd: FileDescriptor?
    private var token: UInt64?
    private var errors: HeldDescriptor<LineFramer.Line>?
    /// Its output after it was asked to end.
    private var rest: HeldDescriptor<Never>?
    private var hear: (Int32) throws(SystemError) -> Int? = { _ in nil }
    private var isStopping = false
    private var isKilled = false
    /// It has ended, and others of its group may be about to.
    private var isOver = false
    private let exited: (String) -> Void

    /// Takes pidfd and standard error over.
    init(
        _ started: CommandStart.Started, _ environment: SourceEnvironment, log: @escaping ([UInt8]) -> Void,
        exited: @escaping (String) -> Void
    ) {
        processID = started.processID
        self.environment = environment
        self.exited = exited
        pidfd = FileDescriptor(owning: started.pidfd)
        var framer = LineFramer(maxLength: 48 << 10, inPieces: true)
        errors = HeldDescriptor(on: environment.core, epoll: environment.epoll) { number throws(SystemError) in
            do throws(SystemError) {
                let bytes = try Linux.read(number, atMost: 1 << 16)
                return bytes.isEmpty
                    ? .end(framer.finish().map { [$0] } ?? []) : .items(framer.push(bytes), bytes: bytes.count)
            } catch  where error.errno == .wouldBlock {
                return .empty
            }
        } tell: {
            for line in $0 { log(line.bytes) }
        } ended: {
            // Strongly: it lives until everything that was said is read.
            self.closeErrors()
        } failed: { _ in
            self.closeErrors()
        }
        try? errors?.open(FileDescriptor(owning: started.errors))
    }

    /// From here on its end is seen.
    func watch() {
        guard let number = pidfd.number else { return }
        do throws(SystemError) {
            // Strongly: it lives until then.
            token = try environment.epoll.add(number, .readable) { _ in self.ended() }
        } catch {
            // Without a place in the epoll set it would never be seen.
            kill()
            ended()
        }
    }

    /// Asks the whole group to end; who does not is killed.
    func stop() {
        guard !isStopping else { return }
        isStopping = true
        signal(15)
        // A stopped process could not hear it.
        signal(18)
        let bound = QueueBound(self, to: environment.core)
        environment.core.after(Self.patience) { bound.value.kill() }
    }

    /// The whole group, at once.
    func kill() {
        isKilled = true
        signal(9)
        if isOver { reap() }
    }

    private func signal(_ number: Int32) {
        // ESRCH: it has just ended, which its pidfd tells next.
        if pidfd.number != nil { try? Linux.kill(group: processID, signal: number) }
    }

    /// It is not to fail for want of a reader while it ends.
    ///
    /// - Parameter hear: reads once: so many bytes, 0 at the end; `nil`: nothing is there now.
    func drain(_ output: consuming FileDescriptor, _ hear: @escaping (Int32) throws(SystemError) -> Int?) {
        guard pidfd.number != nil else {
            Self.hearAll(output.rawValue, hear)
            return output.close()
        }
        self.hear = hear
        rest = HeldDescriptor(on: environment.core, epoll: environment.epoll) { number throws(SystemError) in
            guard let count = try hear(number) else { return .empty }
            return count == 0 ? .end([]) : .items([], bytes: count)
        } tell: { _ in
        } ended: { [weak self] in
            self?.closeRest()
        } failed: { [weak self] _ in
            self?.closeRest()
        }
        do throws(SystemError) { try rest?.open(output) } catch { closeRest() }
    }

    private func ended() {
        if let token { environment.epoll.remove(token) }
        token = nil
        isOver = true
        // Processes that were asked to end with it may do so as long as somebody has its output open.
        if !isStopping || isKilled || !isHeard { reap() }
    }

    private var isHeard: Bool { rest?.isOpen == true || errors?.isOpen == true }

    private func reap() {
        guard let number = pidfd.number else { return }
        // Before it is waited for: until then the group's number is nobody else's.
        signal(9)
        let status = try? Linux.wait(number)
        pidfd.take()?.close()
        hearRest()
        closeRest()
        switch status {
        case .exited(let code): exited("exit \(code)")
        case .signaled(let signal, _): exited(LinuxSignal.name(signal))
        case nil: exited("unknown")
        }
    }

    /// A killed process may have written more than was read; one outside of its group may still write.
    private func hearRest() {
        guard let number = rest?.number else { return }
        Self.hearAll(number, hear)
    }

    /// The content of a pipe may be as large as 1 MiB.
    static func hearAll(_ number: Int32, _ hear: (Int32) throws(SystemError) -> Int?) {
        var size = 0
        while size < 1 << 20, let count = try? hear(number), count > 0 { size += count }
    }

    private func closeErrors() {
        errors?.close { $0.close() }
        errors = nil
        if isOver, !isHeard { reap() }
    }

    private func closeRest() {
        rest?.close { $0.close() }
        rest = nil
        if isOver, !isHeard { reap() }
    }
}
