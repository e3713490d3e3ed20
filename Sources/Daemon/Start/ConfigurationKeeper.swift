import EventSources
import Handlers
import LinuxSystem
import Store
import WatchFile

/// Keeps the texts of the configuration in force in the state folder, where the next start finds them. Writes beside
/// the core, and again later what could not be written. Confined to the core.
final class ConfigurationKeeper {
    /// Microseconds.
    private static let retry = 5_000_000

    private let file: KeptFile
    private let arguments: [String]
    private let core: Context
    private let slow: Lanes
    private let logger: Logger
    /// Texts that are not written yet.
    private var texts: [WatchFileText]?
    /// READY has been told: what is in force works so far.
    private var hasBegun = false
    private var isWriting = false
    /// Why an older configuration is kept, or none, and since when (wall clock, microseconds).
    private(set) var failure: (error: StoreError, since: Int64)?
    private var bound: QueueBound<ConfigurationKeeper> { QueueBound(self, to: core) }

    init(folder: [UInt8], arguments: [String], core: Context, slow: Lanes, logger: Logger) {
        file = .configuration(of: folder)
        (self.arguments, self.core, self.slow, self.logger) = (arguments, core, slow, logger)
    }

    /// The configuration of these texts is in force.
    func keep(_ texts: [WatchFileText]) {
        self.texts = texts
        write()
    }

    /// From now on it writes.
    func begin() {
        hasBegun = true
        write()
    }

    private func write() {
        guard hasBegun, !isWriting, let texts else { return }
        isWriting = true
        let last = LastConfiguration(of: arguments, texts)
        slow.submit("keeping the watch files in force") { [core, bound, file] in
            let result = Result { () throws(StoreError) in try file.replace(with: last.bytes) }
            core.async { bound.value.ended(texts, result) }
        }
    }

    private func ended(_ written: [WatchFileText], _ result: Result<Void, StoreError>) {
        isWriting = false
        guard texts == written else { return write() }
        switch result {
        case .success:
            texts = nil
            if failure != nil { logger.log(.notice, "the watch files in force are kept for the next start") }
            failure = nil
        case .failure(let error):
            if failure?.error != error {
                logger.log(
                    .warning,
                    "\(error); the watch files in force are not kept for a start on files with errors; trying again")
            }
            failure = (error, failure?.since ?? Linux.now(.realtime))
            core.after(Self.retry) { [bound] in bound.value.write() }
        }
    }
}
