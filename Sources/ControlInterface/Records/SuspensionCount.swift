/// The reply of `Suspend` and `Resume`.
package struct SuspensionCount: Codable, Equatable, Sendable {
    /// With its kind: `queue/images`.
    package var name: String
    package var suspended: Int

    package init(name: String, suspended: Int) {
        self.name = name
        self.suspended = suspended
    }
}
