import Engine
import EventSources
import Handlers
import LinuxSystem
import Schedule
import TimeZoneFiles
import WatchFile

/// The time zones of the machine, as the engine knows them.
extension Runtime {
    /// The zone of the machine may be another one: read beside the core, and told if it is.
    ///
    /// A zone that cannot be read stays as it was.
    func readZones() {
        let old = zones
        slow.submit("the time zones", inOrder: true) { [core, bound] in
            let database = TimeZoneDatabase()
            var new = old
            new.local = database.local(else: old.local)
            for name in old.named.keys {
                if let rules = try? database.rules(named: name) { new.named[name] = rules }
            }
            core.async { [new] in bound.value.zonesAreRead(new, insteadOf: old) }
        }
    }

    /// At the start: what the local zone should be cannot be told.
    func warnOfZone() {
        guard let problem = TimeZoneDatabase().localProblem else { return }
        logger.log(.warning, "the time zone is taken to be UTC: \(problem)")
    }

    private func zonesAreRead(_ new: ZoneTable, insteadOf old: ZoneTable) {
        // A reload has read them meanwhile, or an earlier reading of two was told: which of them is right is looked up.
        guard zones == old else { return readZones() }
        guard new != old else { return }
        apply(new)
        handle(.zones(new))
    }

    /// The log goes by the new ones too, from the line on that tells of it.
    func apply(_ new: ZoneTable) {
        let old = zones
        zones = new
        Linux.readLocalZone()
        let name = TimeZoneDatabase().localName.map { ": it is \($0)" } ?? ""
        if new.local != old.local {
            logger.log(.notice, "the time zone has changed\(name); timers and the times of this log go by the new one")
        } else if new.named.contains(where: { name, rules in old.named[name].map { $0 != rules } ?? false }) {
            logger.log(.notice, "the rules of a time zone have changed; timers go by the new ones")
        }
    }

    /// Tells the watchd of the system from those of other machines (`machine-id(5)`), and each user's own from that.
    static var host: [UInt8] {
        let text = (try? Linux.readFile("/etc/machine-id", limit: 256)) ?? []
        let user = Linux.effectiveUserID == 0 ? "" : "/\(Linux.effectiveUserID)"
        return text.prefix { $0 != UInt8(ascii: "\n") } + user.utf8
    }
}
