import Engine
import EventSources
import LinuxSystem
import Systemd

/// The name of the transient service of a run (`RunIn=unit`), by which a later watchd finds it again:
///
///     watchd-run-OPERATION-ATTEMPT.HANDLER.TAG.service      -PART behind the attempt, as for cgroups
///
/// The tag is that of a state folder: several daemons on one machine do not meet in their names.
struct ServiceName: Equatable, Sendable {
    private static let prefix = "watchd-"
    private static let suffix = ".service"

    let run: RunID
    let handler: String
    let tag: String

    init(_ run: RunID, handler: String, _ instance: InstanceName) {
        (self.run, self.handler, tag) = (run, handler, instance.tag)
    }

    /// `nil`: another service has this name.
    init?(_ name: String) {
        guard name.hasPrefix(Self.prefix), name.hasSuffix(Self.suffix) else { return nil }
        let parts = name.dropFirst(Self.prefix.count).dropLast(Self.suffix.count).split(
            separator: ".", omittingEmptySubsequences: false)
        guard parts.count >= 3, let run = Containment.run(named: String(parts[0])), let tag = parts.last else {
            return nil
        }
        (self.run, self.tag) = (run, String(tag))
        handler = parts.dropFirst().dropLast().joined(separator: ".")
    }

    var text: String { "\(Self.prefix)\(Containment.name(of: run)).\(handler).\(tag)\(Self.suffix)" }
}

extension InstanceName {
    /// Eight hexadecimal digits that say which folder of state it is; no secret.
    var tag: String {
        let hash = SipHash.hash(Array(folder.utf8), key: [])
        return String(Self.hexadecimal((0..<4).map { UInt8(truncatingIfNeeded: hash >> ($0 * 8)) }))
    }
}
