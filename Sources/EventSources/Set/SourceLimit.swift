/// Why an armed source sees less, or later, than it is asked to.
package struct SourceLimit: Equatable, Sendable {
    /// A sentence.
    package var text: String
    /// Something is used up, of which the system can be given more.
    package var isShortage: Bool

    package init(_ text: String, isShortage: Bool = false) {
        self.text = text
        self.isShortage = isShortage
    }
}
