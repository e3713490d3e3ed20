/// The action of a handler. A kind of action is a case here, and a performer: the engine itself (`Engine.act`), or a
/// type of the rim that conforms to `OngoingRun` (`RunSet.performer`).
package enum HandlerAction: Equatable, Sendable {
    /// `Exec=`: commands, one after the other until one fails. Never empty.
    case exec([Command])
    /// `Stream=`: workers that read lines.
    indirect case stream(StreamAction)
    /// `Log=`: a line for the journal.
    case log(Template)
    /// `Emit=NAME [DATA]`: fires a `[Custom]` source; `data` expands to a number, `nil` is 1.
    case emit(source: String, data: Template?)
    /// `Mail=`: a mail about the event, or the reported run, to these addresses. Never empty.
    case mail(to: [String])
    /// `Unit=`: jobs of the service manager.
    case unit(UnitAction)
    /// `Process=`: what becomes of a supervised process.
    case process(ProcessAction)
    /// Of an operation that stands for a client.
    case client(ClientAction)

    /// One command, its words as they are.
    package static func exec(literally words: [[UInt8]]) -> HandlerAction {
        .exec([Command(words: words.map { .template(Template(parts: [.literal($0)])) })])
    }

    /// The performer of an action, once the conditions of its handler hold.
    package enum Performer: Equatable, Sendable {
        /// The engine itself: at once, while it decides, but for the restart of a process, which takes its time.
        case engine
        /// Processes of the run's own, each with a slot of `MaxProcesses=`.
        case processes
        /// The rim, without a process of the run's own.
        case rim
    }

    package var performer: Performer {
        switch self {
        case .exec, .mail: .processes
        case .log, .emit, .process, .client: .engine
        case .stream, .unit: .rim
        }
    }
}
