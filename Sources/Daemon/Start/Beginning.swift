// A mistake in one watch file must not stop all jobs of a machine at its next boot. So a service keeps the texts of the
// configuration in force in the state folder (`ConfigurationKeeper`), and where its watch files have an error at the
// start it runs those, and says so until a reload succeeds. An administrator who starts watchd by hand sees the error
// at once: there it ends with status 78, as with `--strict`.

import Handlers
import LinuxSystem
import Store
import Systemd
package import WatchFile

extension Daemon {
    /// The configuration that watchd starts with: of the watch files, or the last one that was in force.
    package struct Beginning: Sendable {
        /// `nil`: there is none, and status 78 is all that is left.
        package private(set) var configuration: Configuration?
        /// Lines for standard error.
        package private(set) var lines: [String]
        let texts: [WatchFileText]
        /// Why the watch files are not what runs; `nil`: they are.
        let refusal: Refusal?
        private let diagnostics: [Diagnostic]

        /// Reads the watch files.
        package init(_ options: Options) {
            let (result, texts) = Daemon.load(options)
            if result.configuration == nil, !options.isStrict, Daemon.isService {
                self.init(refused: result, options)
            } else {
                self.init(result, texts, nil, lines: result.diagnostics.map { $0.rendered() })
            }
        }

        init(_ result: LoadResult, _ texts: [WatchFileText], _ refusal: Refusal?, lines: [String]) {
            (configuration, diagnostics) = (result.configuration, result.diagnostics)
            (self.texts, self.refusal, self.lines) = (texts, refusal, lines)
        }

        private init(refused: LoadResult, _ options: Options) {
            let file = KeptFile.configuration(of: StateDirectory.path(refused.stateDirectory))
            let reason: String
            switch Self.last(file, options) {
            case .success(let last):
                var result = Daemon.load(last.texts)
                if result.configuration != nil {
                    result.diagnostics = refused.diagnostics
                    self.init(result, last.texts, Refusal(refused.diagnostics, .start), lines: [])
                    return
                }
                let errors = result.diagnostics.filter { $0.severity == .error }.map { $0.rendered() }
                reason =
                    "this version refuses the texts kept in \(file.path.printable):\n"
                    + errors.joined(separator: "\n")
            case .failure(let obstacle): reason = obstacle.reason
            }
            self.init(
                refused, [], nil,
                lines: refused.diagnostics.map { $0.rendered() }
                    + ["watchd: cannot run the last configuration that was in force instead: \(reason)"])
        }

        private struct Obstacle: Error { var reason: String }

        private static func last(_ file: KeptFile, _ options: Options) -> Result<LastConfiguration, Obstacle> {
            let path = file.path.printable
            do {
                guard let bytes = try file.read() else { return .failure(Obstacle(reason: "there is no \(path)")) }
                let last = try LastConfiguration(bytes)
                if last.operands == LastConfiguration(of: options.arguments).operands { return .success(last) }
                let others = last.operands.isEmpty ? "the default folder" : last.operands.joined(separator: " ")
                return .failure(Obstacle(reason: "\(path) keeps the one of \(Array(others.utf8).printable)"))
            } catch let error as StoreError {
                return .failure(Obstacle(reason: "\(error)"))
            } catch {
                return .failure(Obstacle(reason: "\(path) is damaged, or of another version of watchd"))
            }
        }

        /// Says what runs instead, and why.
        func log(_ logger: Logger) {
            guard refusal != nil else { return }
            logger.log(
                .err, "the watch files are refused, the last configuration that was in force runs:",
                id: .lastConfiguration)
            for diagnostic in diagnostics {
                for line in diagnostic.rendered().split(separator: "\n") { logger.log(.err, String(line)) }
            }
        }
    }

    /// A service manager has started it, and is told of it or has given it a state folder (`systemd.exec(5)`).
    static var isService: Bool {
        ["NOTIFY_SOCKET", "STATE_DIRECTORY"].contains { Linux.environment($0)?.isEmpty == false }
    }
}

/// Watch files that are not in force since they have an error.
struct Refusal {
    enum Occasion {
        /// The configuration that was in force before the start of watchd runs.
        case start
        /// The configuration that was in force before the reload runs.
        case reload
    }

    let occasion: Occasion
    /// The first error.
    let reason: String
    /// Wall clock, microseconds.
    let since: Int64

    init(_ diagnostics: [Diagnostic], _ occasion: Occasion) {
        let errors = diagnostics.filter { $0.severity == .error }
        let more = errors.count > 1 ? " (and \(errors.count - 1) more)" : ""
        self.occasion = occasion
        reason = (errors.first?.rendered().prefix { $0 != "\n" } ?? "") + more
        since = Linux.now(.realtime)
    }

    var title: String {
        switch occasion {
        case .start: "watch files refused, the last good configuration runs"
        case .reload: "reload refused"
        }
    }
}
