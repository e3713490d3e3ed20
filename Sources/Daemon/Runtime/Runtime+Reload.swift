import Engine
import EventSources
import Handlers
import LinuxSystem
import Schedule
import Systemd
import WatchFile

/// A reload: read and checked beside the core, applied by the engine at one moment.
extension Runtime {
    enum ReloadOutcome {
        case done(ConfigurationChange)
        case invalid([String])
        case refused(EngineProblem)
    }

    /// Reads the watch files again. A file with an error changes nothing. Files that a reload on its way has read may
    /// have changed since: then another one follows it.
    func reload(_ done: @escaping (ReloadOutcome) -> Void) {
        guard engine.phase == .running || reloads.isUnderWay else { return done(.refused(.draining)) }
        guard reloads.begin(done) else { return }
        manager.reloading()
        let done = QueueBound(done, to: core)
        let (options, localZone) = (parts.options, zones.local)
        slow.submit("a reload") { [core, bound] in
            let loaded = Daemon.load(options, localZone: localZone, lookUp: .accounts)
            core.async { bound.value.loaded(loaded.result, loaded.texts, done.value) }
        }
    }

    /// The changes that a reload would make.
    ///
    /// - Parameter texts: in the place of the files that watchd reads.
    func plan(_ texts: [WatchFileText]?, _ done: @escaping (ReloadOutcome) -> Void) {
        let done = QueueBound(done, to: core)
        let options = parts.options
        slow.submit("the plan of a reload") { [core, bound] in
            let result =
                texts.map { Daemon.load($0, lookUp: .accounts) } ?? Daemon.load(options, lookUp: .accounts).result
            core.async {
                guard let configuration = result.configuration else {
                    return done.value(.invalid(result.diagnostics.map { $0.rendered() }))
                }
                var change = bound.value.engine.plan(configuration)
                change.warnings += bound.value.laterChanges(configuration)
                done.value(.done(change))
            }
        }
    }

    private func loaded(_ result: LoadResult, _ texts: [WatchFileText], _ done: @escaping (ReloadOutcome) -> Void) {
        guard let configuration = result.configuration else {
            let diagnostics = result.diagnostics.map { $0.rendered() }
            logger.log(.err, "reload refused, the old watch file stays active:", id: .reloadRefused)
            for line in diagnostics.joined(separator: "\n").split(separator: "\n") { logger.log(.err, String(line)) }
            reloadEnded()
            refusal = Refusal(result.diagnostics, refusal?.occasion ?? .reload)
            problemsMayHaveChanged()
            manager.reloaded(statusLine)
            return done(.invalid(diagnostics))
        }
        for line in result.diagnostics.flatMap({ $0.rendered().split(separator: "\n") }) {
            logger.log(.warning, String(line))
        }
        let later = laterChanges(configuration)
        for warning in later { logger.log(.warning, warning) }
        let token = newToken()
        reloads.apply(token) { [unowned self] result in
            reloadEnded()
            switch result {
            case .success(var change):
                change.warnings += later
                refusal = nil
                self.files = texts.map(\.file)
                keeper?.keep(texts)
                locations = configuration.locations
                submitterGroups = [:]
                apply(configuration.zones)
                members.apply(configuration)
                writeMembers()
                // The local one may have changed since the files were read.
                readZones()
                persistence?.apply(configuration.settings)
                inotify?.setLimit(configuration.settings.maxWatches)
                logger.level = configuration.settings.logLevel
                lookAround()
                done(.done(change))
            case .failure(let error): done(.refused(error))
            }
            manager.reloaded(statusLine)
        }
        // A file system that does not answer is not touched.
        sources?.probe(configuration.sources) { [unowned self] in handle(.reload(configuration, token)) }
    }

    /// Keys that take effect only at the next start.
    private func laterChanges(_ configuration: Configuration) -> [String] {
        let (new, old) = (configuration.settings, parts.configuration.settings)
        return [
            new.controlSocket == old.controlSocket ? nil : "ControlSocket=",
            StateDirectory.path(new) == StateDirectory.path(old) ? nil : "StateDirectory=",
        ].compactMap { $0.map { "\($0) has changed: that takes effect when watchd is started anew" } }
    }

    private func reloadEnded() {
        let later = reloads.end()
        guard !later.isEmpty else { return }
        let waiting = QueueBound(later, to: core)
        core.async { [bound] in bound.value.reload { outcome in for done in waiting.value { done(outcome) } } }
    }

    func reloaded(_ token: Token, _ change: ConfigurationChange) {
        let count = change.added.count + change.changed.count + change.removed.count
        logger.log(
            .notice,
            count == 0
                ? "reloaded: nothing changed"
                : "reloaded: \(change.added.count) added, \(change.changed.count) changed, \(change.removed.count) removed",
            id: .reloaded)
        finishReload(token, .success(change))
    }

    func finishReload(_ token: Token, _ result: Swift.Result<ConfigurationChange, EngineProblem>) {
        reloads.take(token)?(result)
    }
}
