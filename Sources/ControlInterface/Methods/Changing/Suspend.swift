import Varlink

package enum Suspend: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case name, reason, until
        }

        /// A source or queue.
        package var name: String
        package var reason: String?
        /// When it ends by itself.
        package var until: String?

        package init(name: String, reason: String? = nil, until: String? = nil) {
            self.name = name
            self.reason = reason
            self.until = until
        }
    }

    package typealias Reply = SuspensionCount
}
