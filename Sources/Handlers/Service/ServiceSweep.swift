import Engine
import EventSources
import Glibc
import LinuxSystem
import Systemd
import WatchFile

/// The end of services that are runs of an earlier watchd, and that nobody knows any more. It waits for the bus.
/// Confined to the core.
final class ServiceSweep: UnitListener {
    private let units: [String]
    private let environment: RunEnvironment
    private var left: Int

    init(_ units: [String], _ environment: RunEnvironment) {
        (self.units, self.environment, left) = (units, environment, units.count)
    }

    func begin() { environment.units.add(self) }

    func connected(_ client: UnitClient) {
        left = units.count
        for unit in units {
            client.state(of: unit) { [weak self] state, _ in
                // A stop does nothing to a unit that has ended: the processes that KillMode= has left are killed.
                if ["inactive", "failed"].contains(state) { client.kill(unit, all: true, signal: SIGKILL) }
                client.queue("StopUnit", unit) { _ in
                    // Of one that has failed nothing runs any more.
                    client.forget(unit) { self?.ended(unit) }
                }
            }
        }
        environment.units.flush()
    }

    private func ended(_ unit: String) {
        environment.logger.log(.notice, "\(unit), a run of an earlier watchd that nobody knows, is being ended")
        left -= 1
        if left == 0 { environment.units.later { [self] in environment.units.remove(self) } }
    }

    func take(_ news: UnitClient.News, _ client: UnitClient) {}
    func failed(_ condition: SourceCondition) {}
}
