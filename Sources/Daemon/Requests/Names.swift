import ControlInterface
import Engine
import WatchFile

/// Names for the completion of a shell.
extension Runtime {
    func names(_ parameters: ListNames.Parameters) -> ListNames.Reply {
        let kind = parameters.kind
        var names = kind.takesSources ? sourceNames(kind) : []
        if kind.takesHandlers {
            // Nobody starts one that stands for clients.
            let handlers = engine.handlerViews.lazy.map(\.definition.name).filter { !$0.hasPrefix("@") }
            names += Self.names("handler", handlers)
        }
        if kind.takesQueues {
            let queues = engine.queueViews.lazy.filter { kind != .suspended || !$0.suspensions.isEmpty }
            names += Self.names("queue", queues.map(\.definition.name))
        }
        if kind.takesSemaphores { names += Self.names("semaphore", engine.semaphoreViews.lazy.map(\.definition.name)) }
        if let prefix = parameters.prefix {
            names.removeAll { name in
                !name.hasPrefix(prefix) && !(name.split(separator: "/").last ?? "").hasPrefix(prefix)
            }
        }
        return ListNames.Reply(names: Array(names.sorted().prefix(Manager.maximumPage)))
    }

    private func sourceNames(_ kind: ListNames.Kind) -> [String] {
        engine.sourceViews.filter { view in
            switch kind {
            case .customs: view.id.kind == .custom
            case .timers: view.id.kind == .timer
            case .groups: view.id.kind == .group
            case .processes: view.definition.command != nil && view.id.kind == .process
            case .suspended: !view.suspensions.isEmpty
            default: true
            }
        }.map(\.id.description)
    }

    private static func names(_ kind: String, _ names: some Sequence<String>) -> [String] {
        names.map { "\(kind)/\($0)" }
    }
}

extension ListNames.Kind {
    fileprivate var takesSources: Bool { ![.queues, .handlers, .semaphores].contains(self) }
    fileprivate var takesHandlers: Bool { [.names, .handlers, .runnable].contains(self) }
    fileprivate var takesQueues: Bool { [.names, .queues, .pausable, .suspended].contains(self) }
    fileprivate var takesSemaphores: Bool { [.names, .semaphores].contains(self) }
}
