/// `Unit=` of a handler: jobs of systemd's units.
package struct UnitAction: Equatable, Sendable {
    /// `UnitAction=`.
    package enum Verb: String, CaseIterable, Sendable {
        case start, restart, reload, stop
        case tryRestart = "try-restart"
        case reloadOrRestart = "reload-or-restart"

        /// A unit may run afterwards, so that its end can be waited for.
        package var mayStart: Bool { self != .stop && self != .reload }

        /// A unit that runs is ended.
        package var ends: Bool { self == .stop || self == .restart || self == .tryRestart }
    }

    /// Names with their suffix; specifiers stand in the instance of a template only. Never empty.
    package var units: [Template]
    package var verb: Verb
    /// `UnitWait=`: until the units have ended too.
    package var waits: Bool

    package init(units: [Template], verb: Verb = .start, waits: Bool = false) {
        self.units = units
        self.verb = verb
        self.waits = waits
    }

    /// The names of the units, each once, what a specifier stands for escaped as `systemd-escape(1)` does; a path as
    /// with `--path`.
    package func names(_ value: (Specifier) -> [UInt8]) -> [[UInt8]] {
        units.map { unit in
            unit.expanded { specifier in
                let text = value(specifier)
                return specifier.isPath ? UnitEscape.path(text) : UnitEscape.text(text)
            }
        }.withoutRepeats
    }
}

extension Specifier {
    fileprivate var isPath: Bool {
        switch self {
        case .path, .oldPath, .folder: true
        default: false
        }
    }
}
