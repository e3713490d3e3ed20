/// How a `[Group]` stands.
package struct GroupState: Codable, Equatable, Sendable {
    /// `group/deploy`.
    package var name: String
    /// Operations of its members that have not ended.
    package var outstanding: Int
    /// Clients that have entered and not left.
    package var entered: Int

    package init(name: String, outstanding: Int, entered: Int) {
        self.name = name
        self.outstanding = outstanding
        self.entered = entered
    }
}
