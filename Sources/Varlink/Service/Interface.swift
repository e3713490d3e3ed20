/// One interface of a service: its name, its methods, and the text that describes it.
package struct Interface: Sendable {
    package enum MethodStyle: Sendable {
        case reply
        /// Answers with more than one reply, so it must be called with `more`.
        case stream
    }

    package let name: String
    /// Without the interface.
    package let methods: [String: MethodStyle]
    /// In Varlink's interface definition language.
    package let description: String

    package init(name: String, methods: [String: MethodStyle], description: String) {
        self.name = name
        self.methods = methods
        self.description = description
    }
}

extension Interface {
    /// `org.varlink.service`, which every service serves.
    package static let service = Interface(
        name: "org.varlink.service",
        methods: ["GetInfo": .reply, "GetInterfaceDescription": .reply],
        description: """
            # The Varlink Service Interface is provided by every varlink service. It
            # describes the service and the interfaces it implements.
            interface org.varlink.service

            # Get a list of all the interfaces a service provides and information
            # about the implementation.
            method GetInfo() -> (
              vendor: string,
              product: string,
              version: string,
              url: string,
              interfaces: []string
            )

            # Get the description of an interface that is implemented by this service.
            method GetInterfaceDescription(interface: string) -> (description: string)

            # The requested interface was not found.
            error InterfaceNotFound (interface: string)

            # The requested method was not found.
            error MethodNotFound (method: string)

            # The interface defines the requested method, but the service does not
            # implement it.
            error MethodNotImplemented (method: string)

            # One of the passed parameters is invalid.
            error InvalidParameter (parameter: string)

            # The client may not call this method.
            error PermissionDenied ()

            # The method answers with several replies and was called without 'more'.
            error ExpectedMore ()

            """)

    /// `io.systemd.service`, which systemd's own daemons serve and generic tools call.
    package static let systemdService = Interface(
        name: "io.systemd.service",
        methods: ["Ping": .reply, "Reload": .reply, "SetLogLevel": .reply, "GetLogLevel": .reply],
        description: """
            # Control of a running service.
            interface io.systemd.service

            # Check that the service answers.
            method Ping() -> ()

            # Read the configuration again.
            method Reload() -> ()

            # Set the highest level that is logged, from 0 (emergencies) to 7 (debugging).
            method SetLogLevel(level: int) -> ()

            # The highest level that is logged.
            method GetLogLevel() -> (level: int)

            """)
}
