import Varlink

package enum Acquire: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: String, CodingKey, CaseIterable {
            case name, count, pid, command
            case timeoutUsec = "timeout_usec"
        }

        package var name: String
        /// `nil`: 1.
        package var count: Int?
        /// The process at whose end the units are given back.
        package var pid: Int
        /// For people: what holds them.
        package var command: [String]?
        /// How long at most to wait for them; `nil`: for ever.
        package var timeoutUsec: Int?

        package init(
            name: String, count: Int? = nil, pid: Int, command: [String]? = nil, timeoutUsec: Int? = nil
        ) {
            self.name = name
            self.count = count
            self.pid = pid
            self.command = command
            self.timeoutUsec = timeoutUsec
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        /// It holds them; `cancel` takes them back.
        package var operation: Int
        /// The semaphore, without its kind.
        package var name: String
        /// The names of the units, where they have some.
        package var members: [String]?

        package init(operation: Int, name: String, members: [String]? = nil) {
            self.operation = operation
            self.name = name
            self.members = members
        }
    }
}
