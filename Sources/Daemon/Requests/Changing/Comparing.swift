import ControlInterface
import Engine
import EventSources
import WatchFile

/// `Run` with `changed`: a `[Path]` compares what stands at its paths with what it has told.
extension Runtime {
    func compare(_ name: String, _ done: @escaping Request.Completion) {
        let done = namingKinds(["path"], done)
        let all = engine.sourceViews.filter(\.isListed).map(\.id).filter { $0.kind == .path }
        guard let id = all.first(where: { $0.name == name || $0.description == name }) else {
            let known = all.map { name.contains("/") ? $0.description : $0.name }
            return done(.of(.noSuchName(name: name, nearest: Spelling.nearest(to: name, among: known))))
        }
        guard let sources, engine.phase != .draining, engine.phase != .drained else { return done(.of(.draining)) }
        sources.compare(id) { result in
            switch result {
            case .found(let count): done(.of(Run.Reply(operations: [], changes: count)))
            case .refused(let reason): done(.of(.refused(reason: "“\(name)” is not compared: \(reason)")))
            }
        }
    }
}
