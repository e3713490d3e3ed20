package import Varlink

/// One method of `io.watchd.Manager`, with the types that travel.
///
/// The types below `Methods` and `Records` are the interface as Swift says it; `Manager.description` is the same for
/// everyone else, with the meaning of each member. Members are named in snake case on the wire. Times are UTC, to the
/// microsecond: `2026-11-20T18:04:05.123456Z`; a member whose name ends in `_usec` is a span in microseconds.
package protocol ControlMethod: Sendable {
    associatedtype Parameters: CallParameters, Equatable
    associatedtype Reply: Codable, Equatable, Sendable

    /// Without the interface.
    static var name: String { get }
    static var style: Interface.MethodStyle { get }
}

extension ControlMethod {
    package static var name: String { "\(Self.self)" }
    package static var style: Interface.MethodStyle { .reply }
    /// With the interface, as in a call.
    package static var fullName: String { "\(Manager.name).\(name)" }
}
