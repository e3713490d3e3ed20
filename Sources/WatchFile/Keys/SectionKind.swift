/// The kinds of sections, as they stand in brackets.
enum SectionKind: String, CaseIterable {
    case watchd = "Watchd"
    case queue = "Queue"
    case semaphore = "Semaphore"
    case group = "Group"
    case handler = "Handler"
    case timer = "Timer"
    case signal = "Signal"
    case path = "Path"
    case descriptor = "Descriptor"
    case process = "Process"
    case unit = "Unit"
    case custom = "Custom"

    /// The kind of source that such a section makes.
    var sourceKind: SourceKind? {
        switch self {
        case .watchd, .queue, .semaphore, .handler: nil
        case .group: .group
        case .timer: .timer
        case .signal: .signal
        case .path: .path
        case .descriptor: .descriptor
        case .process: .process
        case .unit: .unit
        case .custom: .custom
        }
    }

    /// The first part of full names: `path` in `path/uploads`.
    var prefix: String { rawValue.lowercased() }
}
