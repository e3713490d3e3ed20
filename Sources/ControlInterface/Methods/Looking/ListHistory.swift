import Varlink

package enum ListHistory: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case name, handler, source, result, unsettled, since, until, limit, after
        }

        /// A handler or source; of those with one bare name the handler. Not together with these two.
        package var name: String?
        package var handler: String?
        package var source: String?
        package var result: OperationSummary.Result?
        /// Only failed ones that were neither tried again nor forgotten.
        package var unsettled: Bool?
        /// Ended at this time or later.
        package var since: String?
        /// Ended before this time.
        package var until: String?
        package var limit: Int?
        /// `next` of the page before.
        package var after: String?

        /// Members that are not named here are `nil` at first.
        package init(name: String? = nil, unsettled: Bool? = nil, limit: Int? = nil, after: String? = nil) {
            self.name = name
            self.unsettled = unsettled
            self.limit = limit
            self.after = after
        }

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            name = try members.decodeIfPresent(String.self, forKey: .name)
            handler = try members.decodeIfPresent(String.self, forKey: .handler)
            source = try members.decodeIfPresent(String.self, forKey: .source)
            result = try members.decodeIfPresent(OperationSummary.Result.self, forKey: .result)
            unsettled = try members.decodeIfPresent(Bool.self, forKey: .unsettled)
            since = try members.decodeIfPresent(String.self, forKey: .since)
            until = try members.decodeIfPresent(String.self, forKey: .until)
            limit = try members.decodeIfPresent(Int.self, forKey: .limit)
            after = try members.decodeIfPresent(String.self, forKey: .after)
            guard name == nil || (handler == nil && source == nil) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .name, in: members, debugDescription: "not together with handler or source")
            }
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        /// The one that ended last first.
        package var operations: [OperationSummary]
        /// There are more: pass it as `after`.
        package var next: String?

        package init(operations: [OperationSummary], next: String? = nil) {
            self.operations = operations
            self.next = next
        }
    }
}
