import Varlink

/// The parameters of the lists of sources, queues and handlers.
package struct NamedListParameters: CallParameters, Equatable {
    package enum CodingKeys: CodingKey, CaseIterable {
        case name, after, limit
    }

    /// Only this one; an unknown name is `NoSuchName`.
    package var name: String?
    /// `next` of the page before.
    package var after: String?
    package var limit: Int?

    package init(name: String? = nil, after: String? = nil, limit: Int? = nil) {
        self.name = name
        self.after = after
        self.limit = limit
    }
}
