import Varlink

package enum Resume: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case name
        }

        /// A source or queue.
        package var name: String

        package init(name: String) { self.name = name }
    }

    package typealias Reply = SuspensionCount
}
