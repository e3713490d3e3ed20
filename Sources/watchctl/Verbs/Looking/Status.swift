import ControlInterface
import Varlink

extension Verb {
    static let status = Verb(
        name: "status", operands: "[NAME…]", operandCount: 0...Int.max,
        summary: "show everything that matters on one screen, or all about a source, queue or handler"
    ) { (invocation, session) throws(Failure) in
        if invocation.operands.isEmpty {
            let owner = session.isJSON ? nil : try session.owner()
            try session.show(GetStatus.self, NoParameters()) {
                StatusScreen(status: $0, screen: session.screen, owner: owner).lines
            }
        }
        for name in invocation.operands {
            let lists = Lists(screen: session.screen)
            switch name.split(separator: "/").first {
            case "queue": try session.show(ListQueues.self, .init(name: name)) { lists.queues($0.queues) }
            case "handler": try session.show(ListHandlers.self, .init(name: name)) { lists.handlers($0.handlers) }
            default:
                try session.show(ListSources.self, .init(name: name)) { reply in
                    reply.sources.flatMap { SourceScreen(source: $0, screen: session.screen).lines }
                }
            }
        }
        return .done
    }
}
