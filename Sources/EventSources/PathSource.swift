import Engine
import LinuxSystem
package import WatchFile

/// `[Path NAME]`: changes of files, from inotify. Confined to its context.
package final class PathSource: EventSource {
    private let trigger: PathTrigger
    private let environment: SourceEnvironment
    private let id: SourceID
    private var roots: [PathRoot] = []
    private var retry = Retry()
    private(set) var isHeld = false
    private var failure: SystemError?

    package init(_ id: SourceID, _ trigger: PathTrigger, _ environment: SourceEnvironment) {
        self.id = id
        self.trigger = trigger
        self.environment = environment
    }

    package var watchCount: Int { roots.reduce(0) { $0 + $1.watchCount } }

    package func open() {
        roots = trigger.paths.map {
            PathRoot($0, events: trigger.events, hub: environment.inotify, owner: self)
        }
        arm()
    }

    private func arm() {
        failure = nil
        do throws(SystemError) {
            for root in roots { try root.arm() }
        } catch {
            failed(error)
        }
        rootChanged()
    }

    package func close() {
        retry.cancel()
        for root in roots { root.disarm() }
        roots = []
    }

    package func hold() { isHeld = true }

    package func release() {
        isHeld = false
        for root in roots { root.compareIfDirty() }
    }

    // MARK: What the roots need

    /// Lists on the context for slow work and comes back.
    func list(
        _ work: @escaping @Sendable () throws(SystemError) -> FolderSnapshot,
        then: @escaping (Swift.Result<FolderSnapshot, SystemError>) -> Void
    ) {
        let bound = QueueBound(then, to: environment.core)
        environment.slow.async { [core = environment.core] in
            let result = Swift.Result { () throws(SystemError) in try work() }
            core.async { bound.value(result) }
        }
    }

    func tell(_ fact: PathFact) {
        guard trigger.events.contains(PathEvents(fact.change)) else { return }
        environment.send(.event(id, .path(fact)))
    }

    /// A rename within the source: one event where it was asked for, else what it means at each end.
    func renamed(in root: PathRoot, name: [UInt8], fromWatch: Int32, fromName: [UInt8], hasReplaced: Bool) {
        let old = roots.first { $0.owns(fromWatch) }
        old?.forget(fromName)
        let oldPath = old?.fullPath(fromName)
        if trigger.events.contains(.renamed), let oldPath {
            tell(
                PathFact(
                    .renamed, path: root.fullPath(name), oldPath: oldPath, root: root.path, hasReplaced: hasReplaced))
            return
        }
        if let old, let oldPath { tell(PathFact(.deleted, path: oldPath, root: old.path)) }
        tell(PathFact(.written, path: root.fullPath(name), root: root.path))
    }

    func failed(_ error: SystemError) {
        failure = error
        retry.schedule(on: environment.core) { [weak self] in self?.arm() }
        rootChanged()
    }

    /// Says where the source stands.
    func rootChanged() {
        if roots.contains(where: \.isListing) { return }
        if let failure {
            let reason = "\(Self.explain(failure)); trying again in \(retry.description)"
            environment.send(.source(id, .failed(reason)))
        } else if let missing = roots.first(where: { !$0.exists }) {
            retry.reset()
            environment.send(.source(id, .waiting("\(missing.path.printable) does not exist yet")))
        } else {
            retry.reset()
            environment.send(.source(id, .armed))
        }
    }

    private static func explain(_ error: SystemError) -> String {
        error.errno == .noSpace ? "inotify watches used up (sysctl fs.inotify.max_user_watches)" : "\(error)"
    }
}

extension PathEvents {
    init(_ change: PathChange) {
        self =
            switch change {
            case .created: .created
            case .written: .written
            case .modified: .modified
            case .attributes: .attributes
            case .deleted: .deleted
            case .renamed: .renamed
            }
    }
}
