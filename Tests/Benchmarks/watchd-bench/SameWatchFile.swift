import WatchFile

/// The watch file of `EngineWork`, as it is after it has been read: one queue, one handler, one source whose events have
/// no key and are not merged.
enum SameWatchFile {
    static let source = SourceID(.path, "same")
    static let queue = "same"

    static func configuration(width: Int) -> Configuration {
        let builtIn = QueueDefinition.builtInNames.map { name in
            QueueDefinition(name: name, kind: name == "main" ? .serial : .concurrent(width: 4))
        }
        let kind: QueueDefinition.Kind = width == 1 ? .serial : .concurrent(width: width)
        let command = Command(words: [.template(Template(literal: "/usr/bin/true"))])
        let path = PathTrigger(paths: [Array("/srv".utf8)])
        return Configuration(
            settings: DaemonSettings(maxProcesses: 16), queues: builtIn + [QueueDefinition(name: queue, kind: kind)],
            handlers: [HandlerDefinition(name: "same", action: .exec([command]))],
            sources: [
                SourceDefinition(
                    id: source, routes: [Route(handler: "same", queue: queue)], key: .none, coalesces: false,
                    trigger: .path(path))
            ])
    }
}
