import LinuxSystem

/// Descriptors that sources leave for the starts of handlers: an event that is taken in can always become a run.
///
/// The kernel gives out the lowest free number. A source takes none from the last few, so runs alone have those, no
/// matter how many sources wait for a descriptor or in which order others are closed.
enum DescriptorRoom {
    /// A start needs a pipe for each output, an input and a pidfd, and the ends of pipes that the handler gets.
    static let kept: UInt64 = 10

    /// Throws where a source may not open a descriptor, or so many of them.
    static func check(for count: UInt64 = 1) throws(SystemError) {
        let limit = try Linux.openFileLimit().soft
        let lowest = try? Linux.open("/", [.pathOnly]).use { UInt64($0) }
        if let lowest, lowest + count - 1 + kept < limit { return }
        throw SystemError(
            call: "open", detail: "the last \(kept) descriptors are kept for handlers", errno: .descriptorsExhausted)
    }
}
