package import Engine
import LinuxSystem
package import Schedule
package import WatchFile

/// Looks whether the conditions of `HoldUntil=` hold that something waits for, and again when the kernel says that one
/// may have changed. Nothing is watched for which nothing waits. Confined to its context.
package final class HoldWatches {
    private let environment: HoldEnvironment
    private var probes: [HoldCondition: any HoldProbe] = [:]

    package init(_ environment: HoldEnvironment) { self.environment = environment }

    /// Tells soon how it stands, and at each change until `unwatch`.
    package func watch(_ condition: HoldCondition) {
        guard probes[condition] == nil else { return }
        let tell: (String?) -> Void = { [send = environment.send] in send(.hold(condition, obstacle: $0)) }
        let probe: any HoldProbe =
            switch condition {
            case .mainsPower: PowerProbe(environment, tell)
            case .networkOnline: NetworkProbe(environment, tell)
            case .pressure(let resource, let share, let percent):
                PressureProbe(environment, resource, share, percent: percent, tell)
            case .path(let path): PathProbe(environment, path, tell)
            case .unit(let name): environment.unitProbe(name, tell)
            case .idle(let span): environment.idleProbe(span, tell)
            }
        probes[condition] = probe
        probe.begin()
    }

    package func unwatch(_ condition: HoldCondition) { probes.removeValue(forKey: condition)?.end() }
}

/// The surroundings of probes.
package struct HoldEnvironment {
    let core: Context
    /// For what may block.
    let slow: Lanes
    let epoll: EpollSet
    /// In place of `/sys` and `/proc`, for tests.
    let sys: String
    let proc: String
    /// For `unit:…`, of which this target knows nothing.
    let unitProbe: (_ unit: String, _ tell: @escaping (String?) -> Void) -> any HoldProbe
    /// For `idle:…`, likewise.
    let idleProbe: (_ span: TimeSpan, _ tell: @escaping (String?) -> Void) -> any HoldProbe
    let send: (Input) -> Void

    package init(
        core: Context, slow: Lanes, epoll: EpollSet, sys: String = "/sys", proc: String = "/proc",
        unitProbe: @escaping (_ unit: String, _ tell: @escaping (String?) -> Void) -> any HoldProbe,
        idleProbe: @escaping (_ span: TimeSpan, _ tell: @escaping (String?) -> Void) -> any HoldProbe,
        send: @escaping (Input) -> Void
    ) {
        (self.core, self.slow, self.epoll) = (core, slow, epoll)
        (self.unitProbe, self.idleProbe) = (unitProbe, idleProbe)
        (self.sys, self.proc, self.send) = (sys, proc, send)
    }
}

/// One condition that is looked at.
package protocol HoldProbe: AnyObject {
    /// Tells how it stands now, and at each change: `nil`, or why it does not hold.
    func begin()
    func end()
}
