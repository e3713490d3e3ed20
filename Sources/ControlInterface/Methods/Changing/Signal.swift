import Varlink

package enum Signal: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case name, count
        }

        /// A semaphore.
        package var name: String
        /// How much is given, at least 1; `nil`: 1.
        package var count: Int?

        package init(name: String, count: Int? = nil) {
            self.name = name
            self.count = count
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        /// The free units; negative after a reload that lowered `Value=`.
        package var available: Int

        package init(available: Int) { self.available = available }
    }
}
