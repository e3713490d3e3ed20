import Varlink

/// Names and nothing else: a shell that completes a word has no time for more.
package enum ListNames: ControlMethod {
    package enum Kind: String, Codable, CaseIterable, Sendable {
        /// `processes`: those with `Command=`. `runnable`: for `Run`. `pausable`: for `Suspend`; `suspended`: for
        /// `Resume`.
        case names, sources, customs, timers, groups, processes, queues, handlers, semaphores, runnable, pausable
        case suspended
    }

    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case kind, prefix
        }

        package var kind: Kind
        /// Of the name, or of what stands behind its kind: `up` finds `path/uploads`.
        package var prefix: String?

        package init(kind: Kind, prefix: String? = nil) {
            self.kind = kind
            self.prefix = prefix
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        /// `path/uploads`, `queue/images`; at most `Manager.maximumPage`.
        package var names: [String]

        package init(names: [String]) { self.names = names }
    }
}
