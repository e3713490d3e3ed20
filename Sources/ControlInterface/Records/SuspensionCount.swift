/// The reply of `Suspend` and `Resume`.
package struct SuspensionCount: Codable, Equatable, Sendable {
    /// With its kind: `queue/images`.
    package var name: String
    package var suspended: Int
    /// Why the store does not know it yet; `nil`: it does.
    package var unsaved: String?

    package init(name: String, suspended: Int, unsaved: String? = nil) {
        self.name = name
        self.suspended = suspended
        self.unsaved = unsaved
    }
}
