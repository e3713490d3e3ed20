package import JSON

/// The description of a Varlink service, and the interfaces that its calls go to.
package struct Service: Sendable {
    /// The answer to `GetInfo`, but for the interfaces.
    package struct Identity: Sendable {
        package var vendor: String
        package var product: String
        package var version: String
        package var url: String

        package init(vendor: String, product: String, version: String, url: String) {
            self.vendor = vendor
            self.product = product
            self.version = version
            self.url = url
        }
    }

    /// Where a call goes.
    package enum Route: Sendable {
        /// Answered already: a method of `org.varlink.service`.
        case reply(JSONValue)
        case error(ErrorReply)
        /// A method of one of the service's own interfaces.
        case method(interface: String, name: String)
    }

    private let identity: Identity
    private let interfaces: [Interface]

    /// - Parameter interfaces: the service's own; `org.varlink.service` is always there.
    package init(_ identity: Identity, interfaces: [Interface]) {
        self.identity = identity
        self.interfaces = [.service] + interfaces
    }

    package func route(_ call: Call) -> Route {
        guard let interface = interfaces.first(where: { $0.name == call.interface }) else {
            return .error(.interfaceNotFound(call.interface))
        }
        guard let style = interface.methods[call.name] else { return .error(.methodNotFound(call.method)) }
        if style == .stream, !call.wantsMore { return .error(.expectedMore) }
        guard interface.name == Interface.service.name else {
            return .method(interface: interface.name, name: call.name)
        }
        do throws(ErrorReply) {
            return .reply(try answer(call))
        } catch {
            return .error(error)
        }
    }

    private func answer(_ call: Call) throws(ErrorReply) -> JSONValue {
        if call.name == "GetInfo" {
            _ = try call.parameters(as: NoParameters.self)
            return .object([
                "vendor": .string(identity.vendor), "product": .string(identity.product),
                "version": .string(identity.version), "url": .string(identity.url),
                "interfaces": .array(interfaces.map { .string($0.name) }),
            ])
        }
        let wanted = try call.parameters(as: DescriptionParameters.self).interface
        guard let interface = interfaces.first(where: { $0.name == wanted }) else { throw .interfaceNotFound(wanted) }
        return .object(["description": .string(interface.description)])
    }

    private struct DescriptionParameters: CallParameters {
        enum CodingKeys: CodingKey, CaseIterable { case interface }
        var interface: String
    }
}
