import Engine
import EventSources
import Handlers
import Schedule
import WatchFile

extension Runtime {
    /// Warns of programs, users and folders that the watch files name and the machine has not. Looking for them may
    /// hang with a file system: neither the core nor a start or a reload waits for it, and where a source has failed,
    /// perhaps for such a one, nobody looks.
    func lookAround() {
        guard !stands.hasFailures else { return }
        let (options, zone) = (parts.options, zones.local)
        slow.submit("a look at what the watch files name") { [core, bound] in
            let result = Daemon.load(options, localZone: zone, lookUp: .warnings).result
            // Files with an error are not those in force.
            guard result.configuration != nil, !result.diagnostics.isEmpty else { return }
            let known = Daemon.load(options, localZone: zone).result.diagnostics
            let found = result.diagnostics.filter { !known.contains($0) }
            core.async { for warning in found { bound.value.warn(warning) } }
        }
    }

    /// An entry of the journal has several lines; on a terminal each is one of its own, since a line that is written there
    /// has no control characters.
    private func warn(_ warning: Diagnostic) {
        let text = warning.rendered()
        if logger.isJournal { return logger.log(.warning, text) }
        for line in text.split(separator: "\n") { logger.log(.warning, String(line)) }
    }
}
