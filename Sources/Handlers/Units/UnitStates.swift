import LinuxSystem
import WatchFile

/// The states of the units that one source watches. A unit that is not loaded is inactive, so only the others are kept.
struct UnitStates {
    /// Units that are not inactive, of one source: those beyond are not watched. systemd itself knows 131 072 at most.
    static let limit = 20_000

    private var names: Set<String> = []
    private var globs: [String] = []
    private let limit: Int
    private var states: [String: UnitChange] = [:]
    /// More units than the limit were seen.
    private(set) var isFull = false

    /// - Parameter names: of units, or globs.
    init(_ names: [String], limit: Int = Self.limit) {
        self.limit = limit
        watch(names)
    }

    static func isGlob(_ name: String) -> Bool { name.contains { "*?[".contains($0) } }

    /// From now on these are watched: an alias has become the name that the unit has itself.
    mutating func watch(_ names: [String]) {
        globs = names.filter(Self.isGlob)
        self.names = Set(names).subtracting(globs)
    }

    func isWatched(_ unit: String) -> Bool {
        names.contains(unit) || globs.contains { Linux.matches(unit, glob: $0) }
    }

    /// `ActiveState` of `org.freedesktop.systemd1(5)`; what reloads is active, what is cleaned is inactive. `nil`: a
    /// state that a newer systemd has.
    static func state(_ text: String) -> UnitChange? {
        switch text {
        case "reloading", "refreshing": .active
        case "maintenance": .inactive
        default: UnitChange(rawValue: text)
        }
    }

    /// A unit that is watched is in this state now; returns whether that is a change.
    mutating func saw(_ unit: String, _ state: UnitChange) -> Bool {
        let before = states[unit] ?? .inactive
        guard state != before else { return false }
        if before == .inactive, states.count >= limit {
            isFull = true
            return false
        }
        states[unit] = state == .inactive ? nil : state
        return true
    }

    func isIn(_ state: UnitChange, _ unit: String) -> Bool { (states[unit] ?? .inactive) == state }

    /// All that are loaded now; returns those in another state than before, by their names. States that a unit passed
    /// through in between are not known.
    mutating func saw(all listed: [(unit: String, state: UnitChange)]) -> [(unit: String, state: UnitChange)] {
        isFull = false
        let loaded = Set(listed.map(\.unit))
        let unloaded = states.keys.filter { !loaded.contains($0) }.map { (unit: $0, state: UnitChange.inactive) }
        return (unloaded + listed).sorted { $0.unit < $1.unit }.filter { saw($0.unit, $0.state) }
    }
}
