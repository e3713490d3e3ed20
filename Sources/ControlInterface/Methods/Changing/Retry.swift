package enum Retry: ControlMethod {
    package typealias Parameters = FailedTarget

    package struct Reply: Codable, Equatable, Sendable {
        /// The one that failed first is the first. Empty: the handler has none.
        package var operations: [Retried]
        /// Of a handler there are more than were taken at once: call again.
        package var more: Bool

        package init(operations: [Retried], more: Bool = false) {
            self.operations = operations
            self.more = more
        }
    }

    /// A failed operation, and the one that it runs again as.
    package struct Retried: Codable, Equatable, Sendable {
        package var failed: Int
        package var operation: Int

        package init(failed: Int, operation: Int) {
            self.failed = failed
            self.operation = operation
        }
    }
}
