/// The reply of `Start`, `StopProcess` and `Restart`.
package struct ProcessCopies: Codable, Equatable, Sendable {
    /// With its kind: `process/web`.
    package var name: String
    package var processes: [SupervisedProcess]

    package init(name: String, processes: [SupervisedProcess]) {
        self.name = name
        self.processes = processes
    }
}
