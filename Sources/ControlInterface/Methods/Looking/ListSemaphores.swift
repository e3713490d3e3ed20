import Varlink

package enum ListSemaphores: ControlMethod {
    package typealias Parameters = NamedListParameters

    package struct Reply: Codable, Equatable, Sendable {
        /// In the order of their names.
        package var semaphores: [Semaphore]
        package var next: String?

        package init(semaphores: [Semaphore], next: String? = nil) {
            self.semaphores = semaphores
            self.next = next
        }
    }

    package struct Holder: Codable, Equatable, Sendable {
        package var operation: Int
        package var handler: String
        package var count: Int
        /// The names of what it holds, where they have some.
        package var members: [String]?

        package init(operation: Int, handler: String, count: Int, members: [String]? = nil) {
            self.operation = operation
            self.handler = handler
            self.count = count
            self.members = members
        }
    }

    package struct Semaphore: Codable, Equatable, Sendable {
        package var name: String
        /// `Value=` of the watch file.
        package var value: Int
        /// The free units; negative after a reload that lowered `Value=`.
        package var available: Int
        /// Operations that stand in its line.
        package var waiting: Int
        /// The names of its units, where they have some.
        package var members: [String]?
        /// Runs that hold units of it, the oldest operation first.
        package var holders: [Holder] = []
        /// Where its section stands; only for who may change things.
        package var file: String?
        package var line: Int?

        package init(name: String, value: Int, available: Int, waiting: Int = 0) {
            self.name = name
            self.value = value
            self.available = available
            self.waiting = waiting
        }
    }
}
