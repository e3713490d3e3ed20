import Varlink

/// The parameters of `Start`, `StopProcess` and `Restart`.
package struct ProcessName: CallParameters, Equatable {
    package enum CodingKeys: CodingKey, CaseIterable {
        case name
    }

    /// A `[Process]` with `Command=`.
    package var name: String

    package init(name: String) { self.name = name }
}
