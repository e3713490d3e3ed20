import Engine
import LinuxSystem
import WatchFile

import struct WatchFile.Command

/// `Command=`: what a command of ours writes to its standard output. When it has ended it is started again after 100 ms,
/// doubling to 30 s; one that ran for 10 s has done well and begins anew. Its process group is killed when the source is
/// closed. Confined to its context.
package final class CommandSource: EventSource {
    private static let firstDelay = 100_000
    private static let longestDelay = 30_000_000
    private static let wellDone: Int64 = 10_000_000

    private let id: SourceID
    private let command: Command
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

    init(
        _ id: SourceID, _ command: Command, _ trigger: DescriptorTrigger, _ environment: SourceEnvironment,
        isDurable: Bool = false
    ) {
        self.id = id
        self.command = command
        self.environment = environment
        maker = LineMaker(id, trigger, environment)
        view = isDurable ? PipeView(trigger, maker) : nil
        output = view.map(durable) ?? plain()
    }

    private func plain() -> any DescriptorReader {
        environment.reader(
            id, maker, ended: { [unowned self] in outputEnded() }, failed: { [unowned self] _ in outputEnded() })
    }

    private func durable(_ view: PipeView) -> any DescriptorReader {
        view.reader(
            id, environment, ended: { [unowned self] in outputEnded() }, failed: { [unowned self] _ in outputEnded() })
    }

    /// Its output, a pidfd and standard error.
    package var descriptorCount: Int {
        (output?.isOpen == true ? 1 : 0) + (process == nil ? 0 : 2) + (view == nil ? 0 : 2)
    }

    package func open() {
        guard !isClosed, process == nil, !isStarting else { return }
        isStarting = true
        started = Linux.now(.monotonic)
        let start = CommandStart(command)
        let bound = QueueBound(self, to: environment.core)
        // Reading the program's file may block.
        environment.slow.async { [core = environment.core] in
            let result = Swift.Result { () throws(CommandStart.Failure) in try start.run() }
            core.async { bound.value.took(result) }
        }
    }

    private func took(_ result: Swift.Result<CommandStart.Started, CommandStart.Failure>) {
        isStarting = false
        switch result {
        case .failure(let failure): again("it cannot be started: \(failure.reason)")
        case .success(let started):
            let process = CommandProcess(started, environment, log: { [environment, id] in environment.log(id, $0) }) {
                [weak self] in self?.exited($0)
            }
            guard !isClosed else {
                FileDescriptor(owning: started.output).close()
                return process.kill()
            }
            self.process = process
            do throws(SystemError) {
                try output?.open(FileDescriptor(owning: started.output))
                environment.send(.source(id, .armed))
            } catch {
                ending = "\(error)"
                outputEnded()
            }
        }
    }

    private func exited(_ status: String) {
        ending = "it has ended (\(status))"
        process = nil
        endedInPart()
    }

    private func outputEnded() {
        // Whoever has closed its output has nothing more to say.
        process?.kill()
        output?.close { $0.close() }
        reopenOutput()
        endedInPart()
    }

    /// A reader that was closed is done; the next process has one of its own.
    private func reopenOutput() {
        guard !isClosed else { return output = nil }
        output = view.map(durable) ?? plain()
        if isHeld { output?.hold() }
    }

    private func endedInPart() {
        guard process == nil, output?.isOpen != true else { return }
        again(ending)
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
        process?.kill()
        process = nil
        guard let output, output.isOpen else { return left() }
        self.output = nil
        output.close {
            $0.close()
            left()
        }
        view?.close()
    }

    package func hold() {
        isHeld = true
        output?.hold()
    }

    package func release() {
        isHeld = false
        do throws(SystemError) { try output?.release() } catch { outputEnded() }
    }
}
