import Engine
import LinuxSystem
import WatchFile

import struct WatchFile.Command

/// `Command=`: what a command of ours writes to its standard output. When it has ended it is started again after 100
/// ms, doubling to 30 s; one that ran for 10 s has done well and begins anew. One that has closed its output only is
/// waited for. When the source is closed its process group is asked to end; it has left when that is done. Confined to
/// its context.
package final class CommandSource: EventSource {
    private static let firstDelay = 100_000
    private static let longestDelay = 30_000_000
    private static let wellDone: Int64 = 10_000_000
    /// How long a process may go on after the end of its output before that is said: most end just then.
    private static let silentEnd = 1_000_000

    let id: SourceID
    private let start: CommandStart
    private let environment: SourceEnvironment
    private let maker: LineMaker
    private let view: PipeView?
    private var output: (any DescriptorReader)?
    private var process: CommandProcess?
    private var delay = firstDelay
    private var started: Int64 = 0
    private var isStarting = false
    private var isClosed = false
    private var isHeld = false
    private var ending = "it has ended"
    /// Why nothing of its output can be read any more.
    private var failure: SystemError?
    private let spare: SpareDescriptors
    /// Output that nobody was told of before the source was closed, and so many bytes of the output since.
    private var heard: [LineFact] = []
    private var heardSize = 0
    /// More than that is thrown away: its end takes no longer for it (bytes).
    private static let mostHeard = 256 << 10
    /// Closed while the command was being started: to be called when that has ended.
    private var left: (() -> Void)?

    init(
        _ id: SourceID, _ command: Command, _ trigger: DescriptorTrigger, _ environment: SourceEnvironment,
        isDurable: Bool = false, spare: SpareDescriptors = SpareDescriptors()
    ) {
        self.id = id
        start = CommandStart(command, of: id, trigger.launch)
        self.environment = environment
        self.spare = spare
        maker = LineMaker(id, trigger, environment)
        view = isDurable ? PipeView(trigger, maker) : nil
        output = view.map(durable) ?? plain()
    }

    private func plain() -> any DescriptorReader {
        environment.reader(
            id, maker, ended: { [weak self] in self?.outputEnded() }, failed: { [weak self] in self?.outputFailed($0) })
    }

    private func durable(_ view: PipeView) -> any DescriptorReader {
        view.reader(
            id, environment, ended: { [weak self] in self?.outputEnded() },
            failed: { [weak self] in self?.outputFailed($0) })
    }

    /// Its output, a pidfd and standard error.
    package var descriptorCount: Int {
        (output?.isOpen == true ? 1 : 0) + (process == nil ? 0 : 2) + (view == nil ? 0 : 2)
    }

    package func open() {
        guard !isClosed, process == nil, !isStarting else { return }
        isStarting = true
        failure = nil
        started = Linux.now(.monotonic)
        let bound = QueueBound(self, to: environment.core)
        environment.commands.add(self)
        // Reading the program's file may block.
        environment.slow.submit(id.description, inOrder: true) {
            [core = environment.core, start, instance = environment.instance()] in
            let result = Swift.Result { () throws(CommandStart.Failure) in try start.run(instance) }
            core.async { bound.value.took(result) }
        }
    }

    private func took(_ result: Swift.Result<CommandStart.Started, CommandStart.Failure>) {
        isStarting = false
        switch result {
        case .failure(let failure):
            environment.commands.remove(self)
            if isClosed { hasLeft() } else { again("it cannot be started: \(failure.reason)") }
        case .success(let started):
            for warning in started.warnings { environment.warn(id, warning) }
            let process = CommandProcess(started, environment) { [environment, id] in
                environment.log(id, $0)
            } exited: {
                self.exited($0)
            }
            self.process = process
            let output = FileDescriptor(owning: started.output)
            if isClosed { process.drain(output, hear) } else { read(output, of: process) }
            process.watch()
            if isClosed { process.stop() }
        }
    }

    private func read(_ new: consuming FileDescriptor, of process: CommandProcess) {
        do throws(SystemError) {
            try output?.open(new)
            environment.send(.source(id, .armed))
        } catch {
            outputFailed(error)
        }
    }

    private func exited(_ status: String) {
        ending = "it has ended (\(status))"
        process = nil
        // Before it is known that it has ended: what it has said belongs to whoever is opened next.
        if isClosed { hasLeft() }
        environment.commands.remove(self)
        if !isClosed { endedInPart() }
    }

    private func hasLeft() {
        left?()
        left = nil
    }

    /// A command that has closed its output has nothing more to say, but may have something to do.
    private func outputEnded() {
        output?.close { $0.close() }
        reopenOutput()
        endedInPart()
        guard let process else { return }
        let bound = QueueBound((self, process), to: environment.core)
        environment.core.after(Self.silentEnd) {
            let (source, process) = bound.value
            guard source.process === process, !source.isClosed else { return }
            let reason = "it has closed its output; it is started again when it has ended"
            source.environment.send(.source(source.id, .waiting(reason)))
        }
    }

    /// A command whose output nobody can read any more must not go on.
    private func outputFailed(_ error: SystemError) {
        failure = error
        process?.stop()
        output?.close { $0.close() }
        reopenOutput()
        endedInPart()
    }

    /// A reader that was closed is done; the next process has one of its own.
    private func reopenOutput() {
        guard !isClosed else {
            output = nil
            return
        }
        output = view.map(durable) ?? plain()
        if isHeld { output?.hold() }
    }

    private func endedInPart() {
        guard process == nil, output?.isOpen != true else { return }
        again(failure.map { "\($0)" } ?? ending)
    }

    private func again(_ reason: String) {
        guard !isClosed else { return }
        if Linux.now(.monotonic) - started >= Self.wellDone { delay = Self.firstDelay }
        let bound = QueueBound(self, to: environment.core)
        environment.core.after(delay) { bound.value.open() }
        environment.send(.source(id, .failed(reason, retryAt: Linux.now(.realtime) + Int64(delay))))
        delay = min(2 * delay, Self.longestDelay)
    }

    package func close() { close {} }

    package func close(then left: @escaping () -> Void) {
        isClosed = true
        // Two things are waited for.
        var hasOne = false
        let done = { [self] in
            guard hasOne else {
                hasOne = true
                return
            }
            leaveHeard()
            left()
        }
        if process == nil, !isStarting { done() } else { self.left = done }
        process?.stop()
        guard let output, output.isOpen else {
            view?.close()
            return done()
        }
        self.output = nil
        heard = output.untold
        output.close { [self, process] in
            if let view { heard += maker.resume(view.unfinished) }
            if let process {
                process.drain($0, hear)
            } else {
                CommandProcess.hearAll($0.rawValue, hear)
                $0.close()
            }
            done()
        }
        view?.close()
    }

    // MARK: Output while it ends

    private func hear(_ number: Int32) throws(SystemError) -> Int? {
        switch try environment.buffer.read(number, maker) {
        case .empty: return nil
        case .end(let facts):
            heard += facts
            return 0
        case .items(let facts, let bytes):
            heardSize += bytes
            if heardSize <= Self.mostHeard { heard += facts }
            return bytes
        }
    }

    private func leaveHeard() {
        spare.leave(id, heard + maker.rest())
        heard = []
        guard heardSize > Self.mostHeard else { return }
        environment.warn(
            id, "its command said \(heardSize) bytes while it was ended: what is beyond \(Self.mostHeard) is lost")
        environment.send(.gap(id, 1))
    }

    /// Ends what was asked to end, at once.
    func kill() { process?.kill() }

    package func hold() {
        isHeld = true
        output?.hold()
    }

    package func release() {
        isHeld = false
        do throws(SystemError) { try output?.release() } catch { outputFailed(error) }
    }
}
