import WatchFile

/// An operation program's queues as a watch file: a batch is a custom source whose event starts a handler for each
/// part.
extension OperationProgram {
    func configuration(_ fault: OperationEngineSide.Fault?) -> Configuration {
        let builtIn = QueueDefinition.builtInNames.map { name in
            QueueDefinition(name: name, kind: name == "main" ? .serial : .concurrent(width: Self.wide))
        }
        let own = widths.enumerated().map { index, width in
            QueueDefinition(name: "q\(index)", kind: .concurrent(width: width + (fault == .widthIsOneMore ? 1 : 0)))
        }
        return Configuration(
            settings: DaemonSettings(maxProcesses: Self.wide), queues: builtIn + own,
            handlers: batches.indices.flatMap { handlers($0, fault) }, sources: batches.indices.map(source))
    }

    private func handlers(_ batch: Int, _ fault: OperationEngineSide.Fault?) -> [HandlerDefinition] {
        batches[batch].enumerated().map { index, part in
            let command = Command(words: [.template(Template(literal: "/bin/true"))])
            var handler = HandlerDefinition(name: Self.name(batch, index), action: .exec([command]))
            let levels = OperationPriority.allCases.sorted()
            switch fault {
            case .priorityIsNone: break
            case .priorityIsInverted: handler.constraints.priority = levels[levels.count - 1 - part.priority]
            default: handler.constraints.priority = levels[part.priority]
            }
            if fault != .dependencyIsNone { handler.constraints.after = part.after.map { Self.name(batch, $0) } }
            return handler
        }
    }

    private func source(_ batch: Int) -> SourceDefinition {
        let routes = batches[batch].enumerated().map { index, part in
            Route(handler: Self.name(batch, index), queue: "q\(part.queue)")
        }
        return SourceDefinition(
            id: SourceID(.custom, "e\(batch)"), routes: routes, key: .none, coalesces: false,
            trigger: .custom(CustomTrigger()))
    }
}
