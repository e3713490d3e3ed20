import Varlink

package enum GetOperation: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case id
        }

        package var id: Int

        package init(id: Int) { self.id = id }
    }

    package struct Reply: Codable, Equatable, Sendable {
        package var operation: OperationDetail

        package init(operation: OperationDetail) { self.operation = operation }
    }
}
