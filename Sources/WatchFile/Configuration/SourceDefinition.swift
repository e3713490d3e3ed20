package import Schedule

/// The kind of the source that makes an event; the raw value is the `kind` a handler is told.
package enum SourceKind: String, CaseIterable, Sendable {
    case timer, signal, path, descriptor, process, unit, custom, group
}

/// The name of a source; two kinds may use the same name.
package struct SourceID: Hashable, Sendable, CustomStringConvertible {
    package var kind: SourceKind
    package var name: String

    package init(_ kind: SourceKind, _ name: String) {
        self.kind = kind
        self.name = name
    }

    /// `path/uploads`.
    package var description: String { "\(kind.rawValue)/\(name)" }

    /// Reads the text of `description`; `nil` for anything else.
    package init?(description: String) {
        let parts = description.split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2, let kind = SourceKind(rawValue: parts[0]) else { return nil }
        self.init(kind, parts[1])
    }
}

/// A section that makes events: `[Timer NAME]`, `[Path NAME]`, ….
package struct SourceDefinition: Equatable, Sendable {
    package var id: SourceID
    package var summary: String?
    /// Where each event goes, in the order of `Handler=`. Empty only for a supervised process, whose ends are counted.
    package var routes: [Route]
    package var key: KeyRule
    /// `Coalesce=`: merge events of one key while they wait.
    package var coalesces: Bool
    /// `RateLimit=`: events taken in per span; above it they wait and merge.
    package var rateLimit: RateLimit?
    package var isSuspended: Bool
    /// `Required=`: the daemon is not ready before this source is armed.
    package var isRequired: Bool
    package var silence: SilenceRule?
    /// `NotDuring=`, `HoldDuring=` of all that it starts.
    package var windows = CalendarWindows()
    package var trigger: Trigger

    package init(
        id: SourceID, summary: String? = nil, routes: [Route], key: KeyRule = .handler, coalesces: Bool = true,
        rateLimit: RateLimit? = nil, isSuspended: Bool = false, isRequired: Bool = false,
        silence: SilenceRule? = nil, trigger: Trigger
    ) {
        self.id = id
        self.summary = summary
        self.routes = routes
        self.key = key
        self.coalesces = coalesces
        self.rateLimit = rateLimit
        self.isSuspended = isSuspended
        self.isRequired = isRequired
        self.silence = silence
        self.trigger = trigger
    }
}

extension SourceDefinition {
    /// Of a process that is started and supervised here.
    package var command: SupervisedCommand? {
        if case .process(.command(let command)) = trigger { command } else { nil }
    }
}

/// Source → handler on a queue. Both names exist; an alias of a queue is resolved.
package struct Route: Hashable, Sendable {
    package var handler: String
    package var queue: String

    package init(handler: String, queue: String) {
        self.handler = handler
        self.queue = queue
    }
}

/// `Key=`: what an operation is about.
package enum KeyRule: Equatable, Sendable {
    /// Empty: the handler itself.
    case handler
    /// `none`: nothing excludes anything.
    case none
    case template(Template)
}

/// The trigger of a source.
package enum Trigger: Equatable, Sendable {
    case timer(TimerTrigger)
    case signal(SignalTrigger)
    case path(PathTrigger)
    case descriptor(DescriptorTrigger)
    case process(ProcessTrigger)
    case unit(UnitTrigger)
    case custom(CustomTrigger)
    case group(GroupTrigger)
}

/// `[Group]`: fires when the last operation of its members has ended (`dispatch_group_notify`).
package struct GroupTrigger: Equatable, Sendable {
    /// Names of handlers; none of them is started by this group. Never empty.
    package var members: [String]

    package init(members: [String]) { self.members = members }
}

/// `[Signal]`: numbers, none of them refused, each claimed by one source only.
package struct SignalTrigger: Equatable, Sendable {
    package var signals: [Int32]

    package init(signals: [Int32]) { self.signals = signals }
}

/// `Events=` of `[Path]`.
package struct PathEvents: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let written = PathEvents(rawValue: 1)
    package static let renamed = PathEvents(rawValue: 2)
    package static let deleted = PathEvents(rawValue: 4)
    package static let created = PathEvents(rawValue: 8)
    package static let modified = PathEvents(rawValue: 16)
    package static let attributes = PathEvents(rawValue: 32)
    /// The events of a folder in a tree.
    package static let ofFolders: PathEvents = [.created, .deleted, .renamed, .attributes]
    /// `PathChanged=`, as systemd has it: all but writes to a file that is open still.
    package static let ofPathChanged: PathEvents = [.changed, .created, .attributes]
    package static let changed: PathEvents = [.written, .renamed, .deleted]
    package static let all: PathEvents = [.changed, .created, .modified, .attributes]
}

package struct PathTrigger: Equatable, Sendable {
    /// `Initial=`: what is told of what stands there when the source begins.
    package enum Initial: String, CaseIterable, Sendable {
        case none
        /// All, at each start.
        case existing
        /// All, at the first start; later as `changed`.
        case once
        /// Changes since the last handled state.
        case changed
    }

    /// The rule by which paths are compared again and again.
    package struct Polling: Equatable, Sendable {
        /// `Poll=yes`: nothing is watched. Else where the kernel does not tell of every change, or watches are used up.
        package var isAlways: Bool
        /// `PollSec=`: from look to look.
        package var interval: TimeSpan

        package init(isAlways: Bool = false, interval: TimeSpan = .seconds(30)) {
            self.isAlways = isAlways
            self.interval = interval
        }
    }

    /// Absolute, without a trailing slash (but for `/`), without `.` and `..` components. Empty only where there are
    /// conditions. Of one with globs, the folder before the first.
    package var paths: [[UInt8]]
    /// Of paths with globs.
    package var scopes: [[UInt8]: PathScope] = [:]
    /// Of all of them together.
    package var events: PathEvents
    /// Of those of `PathChanged=` and `PathModified=`, each its own.
    package var ownEvents: [[UInt8]: PathEvents] = [:]
    /// `PathExists=`, `PathExistsGlob=`, `DirectoryNotEmpty=`.
    package var levels: PathLevels?
    package var filter: PathFilter
    package var initial = Initial.changed
    package var polling = Polling()
    /// `FollowSymlinks=`: links in a folder stand for what they lead to.
    package var followsLinks = false
    /// `nil`: an operation is submitted at once.
    package var settle: SettleRule?
    /// `Join=all`: an operation is submitted when something of each of the paths has changed.
    package var joinsAll = false
    /// `Loop=stop`: a handler that writes what it watches suspends the source.
    package var stopsLoops = false
    /// `MakeDirectory=yes`: folders that are missing are made, with these permissions (`DirectoryMode=`).
    package var directoryMode: UInt32?
    /// `Recursive=`: of a folder everything below it is watched.
    package var isRecursive: Bool
    package var prune: PathPrune
    /// `IgnoreFile=`: the name of files whose patterns are applied where they stand, and below. Only with `isRecursive`.
    package var ignoreFile: [UInt8]?

    package init(
        paths: [[UInt8]], events: PathEvents = .written, filter: PathFilter = PathFilter(), isRecursive: Bool = false,
        prune: PathPrune = PathPrune()
    ) {
        self.paths = paths
        self.events = events
        self.filter = filter
        self.isRecursive = isRecursive
        self.prune = prune
    }
}

/// `[Unit]`: state changes of systemd units.
package struct UnitTrigger: Equatable, Sendable {
    /// `Unit=`: names with their suffix, or globs. Never empty.
    package var units: [String]
    /// `Events=`. Never empty.
    package var events: Set<UnitChange>

    package init(units: [String], events: Set<UnitChange> = [.failed]) {
        self.units = units
        self.events = events
    }
}

/// The state that a systemd unit has come into, as `ActiveState` of `org.freedesktop.systemd1(5)` spells it.
package enum UnitChange: String, CaseIterable, Sendable {
    case failed, active, inactive, activating, deactivating
}

/// An event of a process; `fork`, `exec` and `coredump` are known only of a `Match=`.
package enum ProcessEvent: String, CaseIterable, Sendable {
    case exit, fork, exec, coredump
}

/// `SilenceSec=`: handlers that are told when a source has had no event for so long, and when it has one again.
package struct SilenceRule: Equatable, Sendable {
    /// At least 1 ms.
    package var span: TimeSpan
    /// `OnSilence=`, `OnSound=`: names of handlers; one of the two is not empty.
    package var onSilence: [String]
    package var onSound: [String]

    package init(span: TimeSpan, onSilence: [String] = [], onSound: [String] = []) {
        self.span = span
        self.onSilence = onSilence
        self.onSound = onSound
    }
}

/// `[Custom]`.
package struct CustomTrigger: Equatable, Sendable {
    /// How waiting data combine, as Dispatch's user-data sources do.
    package enum Merge: String, CaseIterable, Sendable {
        case add, or, replace
    }

    package var merge: Merge

    package init(merge: Merge = .add) { self.merge = merge }
}
