import Engine

/// The bytes of events and of what the engine knows of an operation, as they stand in the store.
enum StateCoding {
    static func encode(_ events: [Event]) -> [UInt8] { fatalError("to come") }
    /// `nil`: damaged, or of a version that is not known.
    static func events(_ bytes: [UInt8]) -> [Event]? { fatalError("to come") }

    /// Everything but its events.
    static func encode(_ operation: StoredOperation) -> [UInt8] { fatalError("to come") }
    static func operation(_ bytes: [UInt8]) -> StoredOperation? { fatalError("to come") }

    static func encode(_ suspensions: [Suspension]) -> [UInt8] { fatalError("to come") }
    static func suspensions(_ bytes: [UInt8]) -> [Suspension]? { fatalError("to come") }

    static func encode(_ stamp: TimerStamp) -> [UInt8] { fatalError("to come") }
    static func timer(_ bytes: [UInt8]) -> TimerStamp? { fatalError("to come") }
}
