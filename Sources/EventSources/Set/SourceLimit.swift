/// Why an armed source sees less, or later, than it is asked to.
package struct SourceLimit: Equatable, Sendable {
    /// A sentence.
    package var text: String
    package var cause: Cause

    package enum Cause: Sendable {
        /// It is as the system is made.
        case nature
        /// Something is used up, of which the system can be given more.
        case shortage
        /// A part may not be read, or cannot be.
        case unread
    }

    package init(_ text: String, cause: Cause = .nature) {
        self.text = text
        self.cause = cause
    }
}
