/// `RunIn=unit`: each run of a handler is a transient service of systemd, which outlives watchd.
package struct UnitPlacement: Equatable, Sendable {
    /// `Unit.KEY=`, by the name of the key, those of one key as they are written.
    package var properties: [UnitProperty]

    package init(properties: [UnitProperty] = []) { self.properties = properties }
}

/// A property of a transient unit, as the service manager takes it over a bus (`org.freedesktop.systemd1(5)`).
package struct UnitProperty: Equatable, Sendable {
    /// A value with the type that the manager expects; behind each case its letter in a D-Bus signature.
    package indirect enum Value: Equatable, Sendable {
        /// `b`
        case flag(Bool)
        /// `s`
        case text(String)
        /// `i`
        case integer(Int32)
        /// `q`
        case short(UInt16)
        /// `u`
        case number(UInt32)
        /// `t`
        case large(UInt64)
        /// `ay`
        case bytes([UInt8])
        /// `as`
        case texts([String])
        /// `(…)`
        case structure([Value])
        /// `a…`, with the signature of an element.
        case array(String, [Value])
    }

    /// The name on the bus.
    package var name: String
    package var value: Value

    package init(_ name: String, _ value: Value) { (self.name, self.value) = (name, value) }
}
