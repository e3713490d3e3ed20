import Varlink

package enum GetOutput: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case id, name, attempt, copy
        }

        /// The operation; or with `name` what that has written last.
        package var id: Int?
        /// A handler, a source, a process with `Command=`, or a handler with workers.
        package var name: String?
        /// From 1; `nil`: the last one.
        package var attempt: Int?
        /// Of a process, from 1; `nil`: the first one.
        package var copy: Int?

        package init(id: Int? = nil, name: String? = nil, attempt: Int? = nil, copy: Int? = nil) {
            self.id = id
            self.name = name
            self.attempt = attempt
            self.copy = copy
        }

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            id = try members.decodeIfPresent(Int.self, forKey: .id)
            name = try members.decodeIfPresent(String.self, forKey: .name)
            attempt = try members.decodeIfPresent(Int.self, forKey: .attempt)
            copy = try members.decodeIfPresent(Int.self, forKey: .copy)
            guard (id == nil) != (name == nil) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .name, in: members, debugDescription: "either id or name")
            }
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        enum CodingKeys: String, CodingKey {
            case operation, attempt, source, process, output, forgotten
            case outputBase64 = "output_base64"
            case outputCut = "output_cut"
            case outputBytes = "output_bytes"
            case lacksBeginning = "output_lacks_beginning"
        }

        /// `nil`: of the handler or source nothing is known that has run; or it is a process.
        package var operation: OperationSummary?
        /// The attempt that wrote it; `nil`: there was no such attempt.
        package var attempt: Int?
        /// `process/web`, or `handler/index` of one with workers: with an operation, a line for them, which has no
        /// output of its own.
        package var source: String?
        /// The copy of the process that wrote it; `nil`: the process has no such copy.
        package var process: SupervisedProcess?
        /// The end of it.
        package var output: String?
        /// Its bytes in Base64, where it is not UTF-8.
        package var outputBase64: String?
        /// True: that is as much as watchd keeps.
        package var outputCut: Bool?
        /// Bytes written in all; `nil`: not known any more.
        package var outputBytes: Int?
        /// True: a later watchd has found the run; what it had written before is in the log only.
        package var lacksBeginning: Bool?
        /// True: it is no longer kept.
        package var forgotten: Bool?

        package init(operation: OperationSummary? = nil, attempt: Int? = nil) {
            self.operation = operation
            self.attempt = attempt
        }
    }
}
