package import Schedule

/// `HoldUntil=`: a state of the machine that has to hold before what comes is submitted.
package enum HoldCondition: Hashable, Sendable, CustomStringConvertible {
    /// `ac-power`: the machine does not run on a battery.
    case mainsPower
    /// `network-online`: there is a default route, over a link that is up.
    case networkOnline
    /// `pressure:RESOURCE:SHARE:PERCENT%`: tasks have been stalled for less of the last ten seconds.
    case pressure(PressureLimit.Resource, PressureLimit.Share, percent: Int)
    /// `path:PATH`: something stands there, byte-exact and absolute.
    case path([UInt8])
    /// `unit:NAME`: the unit of systemd is active. The name has its suffix.
    case unit(String)
    /// `idle:SPAN`: nobody has used the machine for so long, as logind tells.
    case idle(TimeSpan)

    /// As a file spells it.
    package var description: String {
        switch self {
        case .mainsPower: "ac-power"
        case .networkOnline: "network-online"
        case .pressure(let resource, let share, let percent):
            "pressure:\(resource.rawValue):\(share.rawValue):\(percent)%"
        case .path(let path): "path:\(Printable.text(path))"
        case .unit(let name): "unit:\(name)"
        case .idle(let span): "idle:\(span.description.replacing(" ", with: ""))"
        }
    }
}
