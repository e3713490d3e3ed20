import LinuxSystem

extension Verb {
    /// Bytes of a variable that is passed on; what watchd reads is shorter.
    private static let longestTraceparent = 512

    /// `TRACEPARENT` of the caller, of whose span the call is a part. The daemon passes over what is none.
    static var traceparent: String? {
        guard let value = Linux.environment("TRACEPARENT"), (1...longestTraceparent).contains(value.count) else {
            return nil
        }
        return String(validating: value, as: UTF8.self)
    }
}
