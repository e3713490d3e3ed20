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

    package struct Semaphore: Codable, Equatable, Sendable {
        package var name: String
        /// `Value=` of the watch file.
        package var value: Int
        /// What is free now; negative after a reload that lowered `Value=`.
        package var available: Int
        /// Operations that stand in its line.
        package var waiting: Int
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
