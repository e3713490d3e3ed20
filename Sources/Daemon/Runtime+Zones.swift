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
    /// What cannot be read stays as it was.
    func readZones() {
        let old = zones
        slow.async { [core, bound] in
            let database = TimeZoneDatabase()
            var new = old
            new.local = database.local()
            for name in old.named.keys {
                if let rules = try? database.rules(named: name) { new.named[name] = rules }
            }
            core.async { [new] in bound.value.zonesAreRead(new, insteadOf: old) }
        }
    }

    private func zonesAreRead(_ new: ZoneTable, insteadOf old: ZoneTable) {
        // A reload has read them meanwhile.
        guard zones == old, new != old else { return }
        zones = new
        logger.log(.notice, "the time zone has changed; timers go by the new one")
        handle(.zones(new))
    }

    /// `machine-id(5)`; empty where there is none.
    static var machineID: [UInt8] {
        let text = (try? Linux.readFile("/etc/machine-id", limit: 256)) ?? []
        return Array(text.prefix { $0 != UInt8(ascii: "\n") })
    }
}
