import Engine
import WatchFile

/// A case as it stands in the store. The numbers are never given anew: a store of an older watchd has them.
protocol StateNumber {
    static var numbered: [Self] { get }
    var stateNumber: UInt8 { get }
}

extension StateNumber where Self: CaseIterable {
    static var numbered: [Self] { Array(allCases) }
}

extension StateNumber {
    init?(stateNumber: UInt8) {
        guard let value = Self.numbered.first(where: { $0.stateNumber == stateNumber }) else { return nil }
        self = value
    }
}

extension SourceKind: StateNumber {
    var stateNumber: UInt8 {
        switch self {
        case .timer: 1
        case .signal: 2
        case .path: 3
        case .descriptor: 4
        case .process: 5
        case .unit: 6
        case .custom: 7
        case .group: 8
        }
    }
}

extension PathChange: StateNumber {
    var stateNumber: UInt8 {
        switch self {
        case .created: 1
        case .written: 2
        case .modified: 3
        case .attributes: 4
        case .deleted: 5
        case .renamed: 6
        }
    }
}

extension CompletionFact.Outcome: StateNumber {
    static var numbered: [Self] { [.success, .failure, .retry, .change, .finished, .late, .slow] }

    var stateNumber: UInt8 {
        switch self {
        case .success: 1
        case .failure: 2
        case .retry: 3
        case .change: 4
        case .finished: 5
        case .late: 6
        case .slow: 7
        }
    }
}

extension EngineResult: StateNumber {
    var stateNumber: UInt8 {
        switch self {
        case .done: 1
        case .failed: 2
        case .cancelled: 3
        case .skipped: 4
        case .dropped: 5
        case .annulled: 6
        case .superseded: 7
        case .stopped: 8
        }
    }
}

extension CustomTrigger.Merge: StateNumber {
    var stateNumber: UInt8 {
        switch self {
        case .add: 1
        case .or: 2
        case .replace: 3
        }
    }
}

extension LineFact.Form: StateNumber {
    var stateNumber: UInt8 {
        switch self {
        case .line: 1
        case .datagram: 2
        case .chunk: 3
        case .ready: 4
        case .connection: 5
        case .pressure: 6
        }
    }
}

extension ProcessEvent: StateNumber {
    var stateNumber: UInt8 {
        switch self {
        case .exit: 1
        case .fork: 2
        case .exec: 3
        case .coredump: 4
        }
    }
}

extension UnitChange: StateNumber {
    var stateNumber: UInt8 {
        switch self {
        case .failed: 1
        case .active: 2
        case .inactive: 3
        case .activating: 4
        case .deactivating: 5
        }
    }
}

extension OperationPriority: StateNumber {
    var stateNumber: UInt8 {
        switch self {
        case .veryLow: 1
        case .low: 2
        case .normal: 3
        case .high: 4
        case .veryHigh: 5
        }
    }
}
