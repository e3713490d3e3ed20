import Engine
import EventSources
import LinuxSystem
import Systemd

/// The output of one run that is a service: what the journal has of it, as it comes, and as a whole when it has ended.
/// Confined to the core.
final class ServiceOutput {
    /// Milliseconds for which journald may write what it has.
    static let journalPatience: Int32 = 5000
    private static let newline = UInt8(ascii: "\n")

    private let run: RunID
    private let unit: String
    private let environment: RunEnvironment
    /// The output so far.
    private(set) var soFar = RunOutput()
    private var isOver = false
    private var bound: QueueBound<ServiceOutput> { QueueBound(self, to: environment.core) }

    init(_ run: RunID, of unit: String, _ environment: RunEnvironment) {
        (self.run, self.unit, self.environment) = (run, unit, environment)
    }

    /// Takes the lines that come from now on.
    func follow() {
        environment.outputs.follow(unit) { [weak self] in self?.take($0) }
    }

    /// Takes what has been written under an earlier watchd, then the lines that come.
    func find() {
        let reader = JournalReader(unit: unit, scope: environment.units.scope, invocation: nil)
        environment.slow.submit("the output of \(unit)") { [bound, core = environment.core] in
            let lines = try? reader.read(kept: OutputCapture.kept)
            core.async { bound.value.found(lines) }
        }
    }

    private func found(_ lines: JournalReader.Lines?) {
        guard !isOver else { return }
        if let lines { set(lines) }
        follow()
    }

    private func set(_ lines: JournalReader.Lines) {
        soFar = RunOutput(end: Array(lines.end.suffix(OutputCapture.kept)), total: lines.total)
    }

    private func take(_ lines: [[UInt8]]) {
        let bytes = lines.flatMap { $0 + [Self.newline] }
        soFar = soFar + RunOutput(end: bytes, total: bytes.count)
        environment.wrote(run, lines.map { LineFramer.Line(bytes: $0) })
    }

    /// The unit has ended: reads all that it has written.
    ///
    /// - Parameter done: with what the manager says of a process that it could not start; or why nothing can be read.
    func finish(invocation: String?, _ done: @escaping (_ startFailure: String?, _ failure: SystemError?) -> Void) {
        let reader = JournalReader(unit: unit, scope: environment.units.scope, invocation: invocation)
        let done = QueueBound(done, to: environment.core)
        environment.slow.submit("the output of \(unit)") { [bound, core = environment.core] in
            let result = Swift.Result { () throws(SystemError) in
                try reader.read(kept: OutputCapture.kept, patience: Self.journalPatience)
            }
            core.async {
                switch result {
                case .success(let lines):
                    bound.value.tellRest(lines)
                    done.value(lines.startFailure, nil)
                case .failure(let error): done.value(nil, error)
                }
            }
        }
    }

    /// Its last lines, which nobody has been told.
    private func tellRest(_ lines: JournalReader.Lines) {
        var rest = lines.end.suffix(min(OutputCapture.kept, max(0, lines.total - soFar.total)))
        if rest.last == Self.newline { rest = rest.dropLast() }
        if lines.total > soFar.total {
            let texts = rest.split(separator: Self.newline, omittingEmptySubsequences: false)
            environment.wrote(run, texts.map { LineFramer.Line(bytes: Array($0)) })
        }
        set(lines)
        end()
    }

    /// No line is wanted any more.
    func end() {
        isOver = true
        environment.outputs.unfollow(unit)
    }
}
