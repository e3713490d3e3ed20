import Schedule
import WatchFile

/// The rules that a source or a handler has, of those that most have not.
///
/// A delivery goes from its source to its handler without entering the file of a rule that neither of them has.
struct Traits: OptionSet, Sendable {
    let rawValue: UInt32

    // MARK: Of a source

    static let timer = Traits(rawValue: 1 << 0)
    /// `CatchUp=all`: each elapse has an operation of its own.
    static let keepsElapses = Traits(rawValue: 1 << 1)
    static let paths = Traits(rawValue: 1 << 2)
    /// `Key=` is a template: events may have different keys.
    static let ownKeys = Traits(rawValue: 1 << 3)
    /// `SettleSec=` is longer than 0.
    static let settles = Traits(rawValue: 1 << 4)
    /// `Join=all`.
    static let joinsAll = Traits(rawValue: 1 << 5)
    /// `Loop=stop`.
    static let stopsLoops = Traits(rawValue: 1 << 6)
    static let rateLimit = Traits(rawValue: 1 << 7)
    static let silence = Traits(rawValue: 1 << 8)
    /// `Poll=yes`.
    static let polls = Traits(rawValue: 1 << 17)
    /// watchd itself makes its events: ends of operations, runs by hand.
    static let isInternal = Traits(rawValue: 1 << 19)

    // MARK: Of a handler

    static let once = Traits(rawValue: 1 << 9)
    static let digest = Traits(rawValue: 1 << 10)
    static let delay = Traits(rawValue: 1 << 11)
    static let startTimeout = Traits(rawValue: 1 << 12)
    /// `LateSec=`.
    static let late = Traits(rawValue: 1 << 13)
    /// `SlowSec=`.
    static let slow = Traits(rawValue: 1 << 14)
    /// `After=process/…`.
    static let afterProcesses = Traits(rawValue: 1 << 15)

    /// Its work is about one path or line.
    static let oneEntry = Traits(rawValue: 1 << 18)

    // MARK: Of both

    /// `NotDuring=`, `HoldDuring=`, `HoldUntil=`.
    static let windows = Traits(rawValue: 1 << 16)

    /// A new operation has a time before which, or by which, it has to start.
    static let startTimes: Traits = [.settles, .digest, .delay, .startTimeout, .late]
}

extension Traits {
    init(_ definition: SourceDefinition) {
        self = []
        set(.windows, if: !definition.windows.isEmpty)
        set(.rateLimit, if: definition.rateLimit != nil)
        set(.silence, if: definition.silence != nil)
        if case .template = definition.key { insert(.ownKeys) }
        switch definition.trigger {
        case .timer(let timer):
            insert(.timer)
            set(.keepsElapses, if: timer.catchUp == .all)
        case .path(let path):
            insert(.paths)
            set(.settles, if: path.settle != nil)
            set(.joinsAll, if: path.joinsAll)
            set(.stopsLoops, if: path.stopsLoops)
            set(.polls, if: path.polling.isAlways)
        case .signal, .descriptor, .process, .unit, .group, .custom: break
        }
    }

    init(_ definition: HandlerDefinition) {
        self = []
        let constraints = definition.constraints
        set(.windows, if: !definition.windows.isEmpty)
        set(.once, if: constraints.once != nil)
        set(.digest, if: constraints.digest > .zero)
        set(.delay, if: constraints.delay > .zero)
        set(.startTimeout, if: constraints.startTimeout != .infinity)
        set(.afterProcesses, if: !constraints.afterProcesses.isEmpty)
        set(.late, if: definition.patience.late != .infinity)
        set(.slow, if: definition.patience.slow != .infinity)
        set(.oneEntry, if: definition.isAboutOneEntry)
    }

    private mutating func set(_ trait: Traits, if isSet: Bool) { if isSet { insert(trait) } }
}

extension Engine {
    /// The rules on the way from a source to a handler.
    func traits(source: Int, handler: Int) -> Traits { sources[source].traits.union(handlers[handler].traits) }

    /// How events of one key combine while they wait; `nil`: not at all.
    func merge(source: Int, handler: Int) -> CustomTrigger.Merge? {
        isApart(source: source, handler: handler) ? nil : sources[source].merge
    }

    /// Of ends and runs by hand, which no `Key=` keeps apart, a handler that is about one path or line has each by
    /// itself.
    func isApart(source: Int, handler: Int) -> Bool {
        sources[source].traits.contains(.isInternal) && handlers[handler].traits.contains(.oneEntry)
    }

    func traits(_ ref: OperationRef) -> Traits {
        traits(source: operations[ref].source, handler: operations[ref].handler)
    }
}
