import WatchFile

/// The life of the engine, with what each of its times has to know.
enum Life: Sendable {
    /// Before `start`: the store is read.
    case starting
    case running
    indirect case reloading(PendingReload)
    indirect case draining(Drain)
    indirect case drained(Drain)

    /// A configuration that waits until `main` runs nothing.
    struct PendingReload: Sendable {
        var configuration: Configuration
        var token: Token
        var deadline: Int64
    }

    /// A stop.
    struct Drain: Sendable {
        enum Step: Sendable {
            /// Running handlers may end by themselves.
            case waiting
            case terminating
            case killing
        }

        var step = Step.waiting
        var deadline: Int64?
        /// Operations that are made just now wait for the next start, whatever their queue.
        var keepsAll = false
    }

    /// The phase, as clients are told it.
    var phase: Engine.Phase {
        switch self {
        case .starting, .running: .running
        case .reloading: .reloading
        case .draining: .draining
        case .drained: .drained
        }
    }

    var hasStarted: Bool { if case .starting = self { false } else { true } }

    /// Events and calls are taken in.
    var isOpen: Bool {
        switch self {
        case .starting, .running, .reloading: true
        case .draining, .drained: false
        }
    }

    /// A stop has begun, or is over.
    var isStopping: Bool { !isOpen }

    var isDraining: Bool { if case .draining = self { true } else { false } }
    var isDrained: Bool { if case .drained = self { true } else { false } }

    var reload: PendingReload? { if case .reloading(let reload) = self { reload } else { nil } }

    /// Setting it changes the stop that there is.
    var drain: Drain? {
        get {
            switch self {
            case .draining(let drain), .drained(let drain): drain
            case .starting, .running, .reloading: nil
            }
        }
        set {
            guard let drain = newValue else { return }
            switch self {
            case .draining: self = .draining(drain)
            case .drained: self = .drained(drain)
            case .starting, .running, .reloading: break
            }
        }
    }
}
