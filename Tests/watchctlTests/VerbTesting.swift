import ControlInterface
import ControlKit
import Schedule
import Synchronization
import Varlink

@testable import ControlClient

/// What a verb printed, and how it ended.
struct VerbOutcome: Equatable {
    var output = ""
    /// On standard error.
    var remarks = ""
    var code: ExitCode?
    var failure: Failure?
}

/// A suite that runs verbs against a service that answers as it is told.
protocol VerbTesting {}

extension VerbTesting {
    func run(
        _ arguments: [String], isTerminal: Bool = true, answer: @escaping @Sendable (Call) -> SampleServer.Answer
    ) throws -> VerbOutcome {
        let server = try SampleServer(interfaces: [Manager.interface], answer: answer)
        defer { server.stop() }
        return try run(arguments, socket: server.path, isTerminal: isTerminal)
    }

    func run(
        _ arguments: [String], socket: String, patience: Int = 30_000, isTerminal: Bool = true
    ) throws -> VerbOutcome {
        let (output, remarks) = (TextBox(), TextBox())
        let screen = Screen(width: 100, isColoured: false, now: try Timestamp(parsing: Samples.now), local: .utc)
        do throws(Failure) {
            let invocation = try Invocation(arguments: arguments)
            var session = Session(
                socketPath: socket, isJSON: invocation.has(.json), screen: screen, write: { output.append($0) },
                writeBytes: { output.append(String(decoding: $0, as: UTF8.self)) }, patience: patience)
            session.remark = { remarks.append($0) }
            session.limit = try invocation.limit()
            session.screen.isTerminal = isTerminal
            let code = try invocation.verb.run(invocation, session)
            return VerbOutcome(output: output.text, remarks: remarks.text, code: code)
        } catch {
            return VerbOutcome(output: output.text, remarks: remarks.text, failure: error)
        }
    }

    /// The sample whose parameters are those of the call.
    static func anySample(_ call: Call) -> SampleServer.Answer {
        let answers = (Samples.full + Samples.minimal).filter { $0.method.name == call.name }.map { $0.answer(call) }
        return answers.first { if case .reply = $0 { true } else { false } } ?? .error(.invalidParameter("all"))
    }
}

private final class TextBox: Sendable {
    private let box = Mutex("")
    var text: String { box.withLock { $0 } }
    func append(_ text: String) { box.withLock { $0 += text } }
}
