import Varlink

package enum Reload: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case plan
        }

        /// Only say what would change.
        package var plan: Bool?

        package init(plan: Bool? = nil) { self.plan = plan }
    }

    package struct Reply: Codable, Equatable, Sendable {
        /// These three: `path/uploads`, `queue/images`, `handler/backup`.
        package var added: [String]
        package var changed: [String]
        package var removed: [String]
        /// Warnings.
        package var diagnostics: [String]

        package init(added: [String], changed: [String], removed: [String], diagnostics: [String] = []) {
            self.added = added
            self.changed = changed
            self.removed = removed
            self.diagnostics = diagnostics
        }
    }
}
