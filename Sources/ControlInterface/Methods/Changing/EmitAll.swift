import Varlink

package enum EmitAll: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case events
        }

        /// Admitted whole or not at all.
        package var events: [Emit.Parameters]

        package init(events: [Emit.Parameters]) { self.events = events }

        package init(from decoder: any Decoder) throws {
            var list = try decoder.container(keyedBy: CodingKeys.self).nestedUnkeyedContainer(forKey: .events)
            events = []
            while !list.isAtEnd {
                let element = try list.superDecoder()
                try element.refuseUnknownMembers(besides: Emit.Parameters.CodingKeys.self)
                events.append(try Emit.Parameters(from: element))
            }
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        /// One for each of the events, in their order.
        package var events: [Int]

        package init(events: [Int]) { self.events = events }
    }
}
