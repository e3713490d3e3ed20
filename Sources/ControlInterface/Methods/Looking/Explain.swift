import JSON
import Varlink

package enum Explain: ControlMethod {
    /// Exactly one of them.
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: String, CodingKey, CaseIterable {
            case id, name, path
            case pathBase64 = "path_base64"
        }

        /// An operation.
        package var id: Int?
        /// A queue, handler, source or semaphore.
        package var name: String?

        /// Absolute; it need not exist.
        package var path: String?
        /// The bytes of the path, where they are not UTF-8.
        package var pathBase64: String?

        package init(id: Int) { self.id = id }

        package init(name: String) { self.name = name }

        package init(path: String) { self.path = path }

        package init(path: [UInt8]) {
            self.path = String(validating: path, as: UTF8.self)
            if self.path == nil { pathBase64 = Base64.encode(path) }
        }

        /// `nil`: it asks for no path, or that is no Base64.
        package var pathBytes: [UInt8]? { path.map { Array($0.utf8) } ?? pathBase64.flatMap(Base64.decode) }

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            id = try members.decodeIfPresent(Int.self, forKey: .id)
            name = try members.decodeIfPresent(String.self, forKey: .name)
            path = try members.decodeIfPresent(String.self, forKey: .path)
            pathBase64 = try members.decodeIfPresent(String.self, forKey: .pathBase64)
            guard [id != nil, name != nil, path != nil, pathBase64 != nil].count(where: \.self) == 1 else {
                throw DecodingError.dataCorruptedError(
                    forKey: id == nil ? .id : name == nil ? .path : .name, in: members,
                    debugDescription: "exactly one of id, name, path and path_base64")
            }
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        /// `queue/images`, `handler/tell`; of an operation, its handler's; of a path, the path.
        package var object: String
        package var operation: OperationSummary?
        /// The past steps, then the present state.
        package var steps: [Step]

        package init(object: String, operation: OperationSummary? = nil, steps: [Step]) {
            self.object = object
            self.operation = operation
            self.steps = steps
        }
    }

    /// One step of why something waits, or did or did not run.
    package struct Step: Codable, Equatable, Sendable {
        /// `nil`: it holds now.
        package var time: String?
        /// One word for programs: `barrier`, `semaphore`, `joined`, …
        package var code: String
        package var sentence: String
        package var operation: Int?
        /// The operation that decided.
        package var other: Int?
        /// The section that decided: `queue/images`.
        package var section: String?
        /// Where it stands.
        package var file: String?
        package var line: Int?

        /// Members that are not named here are `nil` at first.
        package init(time: String? = nil, code: String, sentence: String) {
            self.time = time
            self.code = code
            self.sentence = sentence
        }
    }
}
