package import Varlink

package enum LeaveGroup: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case name, ticket
        }

        package var name: String
        /// Of `EnterGroup`; anyone who may enter may give it back.
        package var ticket: Int

        package init(name: String, ticket: Int) {
            self.name = name
            self.ticket = ticket
        }
    }

    package typealias Reply = NoParameters
}
