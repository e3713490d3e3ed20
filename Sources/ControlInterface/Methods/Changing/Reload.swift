import Varlink

package enum Reload: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case plan, files
        }

        /// Only say what would change.
        package var plan: Bool?
        /// A plan with these in the place of the files that watchd reads.
        package var files: [File]?

        package init(plan: Bool? = nil, files: [File]? = nil) {
            self.plan = plan
            self.files = files
        }
    }

    /// A watch file as its reader has it.
    package struct File: Codable, Equatable, Sendable {
        package var name: String
        package var text: String
        /// Of a drop-in: the name of the file that it extends.
        package var dropInOf: String?

        private enum CodingKeys: String, CodingKey {
            case name, text
            case dropInOf = "drop_in_of"
        }

        package init(name: String, text: String, dropInOf: String? = nil) {
            self.name = name
            self.text = text
            self.dropInOf = dropInOf
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        /// These: `path/uploads`, `queue/images`, `handler/backup`.
        package var added: [String]
        package var changed: [String]
        package var removed: [String]
        /// And what stays as it is.
        package var kept: [String]
        /// Consequences that somebody should know before the reload, and changes that only take effect at the next
        /// start; one sentence each.
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
