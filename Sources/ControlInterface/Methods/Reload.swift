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
        /// These: `path/uploads`, `queue/images`, `handler/backup`.
        package var added: [String]
        package var changed: [String]
        package var removed: [String]
        /// And what stays as it is.
        package var kept: [String]
        /// What somebody should know before it is done, one sentence each.
        package var warnings: [String]
        /// Warnings about the watch files.
        package var diagnostics: [String]

        package init(
            added: [String], changed: [String], removed: [String], kept: [String] = [], warnings: [String] = [],
            diagnostics: [String] = []
        ) {
            self.added = added
            self.changed = changed
            self.removed = removed
            self.kept = kept
            self.warnings = warnings
            self.diagnostics = diagnostics
        }
    }
}
