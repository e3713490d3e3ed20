import Varlink

package enum SetPriority: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case id, priority
        }

        package var id: Int
        /// `very-low` … `very-high`.
        package var priority: String

        package init(id: Int, priority: String) {
            self.id = id
            self.priority = priority
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        /// Why the store does not know it yet; `nil`: it does.
        package var unsaved: String?

        package init(unsaved: String? = nil) { self.unsaved = unsaved }
    }
}
