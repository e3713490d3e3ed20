import Varlink

/// What `Start`, `StopProcess` and `Restart` take.
package struct ProcessName: CallParameters, Equatable {
    package enum CodingKeys: CodingKey, CaseIterable {
        case name
    }

    /// A `[Process]` with `Command=`.
    package var name: String

    package init(name: String) { self.name = name }
}
