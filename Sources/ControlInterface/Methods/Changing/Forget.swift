package enum Forget: ControlMethod {
    package typealias Parameters = FailedTarget

    package struct Reply: Codable, Equatable, Sendable {
        /// Ids. Empty: the handler has none.
        package var operations: [Int]
        /// Of a handler there are more than were taken at once: call again.
        package var more: Bool

        package init(operations: [Int], more: Bool = false) {
            self.operations = operations
            self.more = more
        }
    }
}
