package import JSON

/// An error as it travels: its full name and its parameters.
package struct ErrorReply: Error, Hashable, Sendable {
    package var name: String
    package var parameters: [String: JSONValue]

    package init(_ name: String, _ parameters: [String: JSONValue] = [:]) {
        self.name = name
        self.parameters = parameters
    }
}

/// The errors of `org.varlink.service`, which every service may answer.
extension ErrorReply {
    package static func interfaceNotFound(_ interface: String) -> ErrorReply {
        ErrorReply("org.varlink.service.InterfaceNotFound", ["interface": .string(interface)])
    }

    /// - Parameter method: with its interface.
    package static func methodNotFound(_ method: String) -> ErrorReply {
        ErrorReply("org.varlink.service.MethodNotFound", ["method": .string(method)])
    }

    /// - Parameter method: with its interface.
    package static func methodNotImplemented(_ method: String) -> ErrorReply {
        ErrorReply("org.varlink.service.MethodNotImplemented", ["method": .string(method)])
    }

    package static func invalidParameter(_ parameter: String) -> ErrorReply {
        ErrorReply("org.varlink.service.InvalidParameter", ["parameter": .string(parameter)])
    }

    package static let permissionDenied = ErrorReply("org.varlink.service.PermissionDenied")

    /// A method that streams was called without `more`.
    package static let expectedMore = ErrorReply("org.varlink.service.ExpectedMore")

    /// A system call failed; `varlinkctl` prints the error's text.
    /// - Parameter name: the constant's name, such as `ENOBUFS`.
    package static func system(_ errno: Int32, _ name: String) -> ErrorReply {
        ErrorReply(
            "io.systemd.System",
            ["origin": .string("linux"), "errno": .int(Int64(errno)), "errnoName": .string(name)])
    }
}
