import LinuxSystem
import WatchFile

/// Where a connection stands that somebody else may have begun to read: in the middle of a line, when it is marked.
struct LineBeginning {
    /// The line of its next byte, of which something has been consumed.
    private enum Mark: Int32 {
        /// To a line that is not told yet.
        case untold = 1
        /// To a line that was told, with what was cut off, or as a gap.
        case told
    }

    /// The bytes up to the next newline are told already, or cannot be told.
    private(set) var isSkipping = false
    /// There was a beginning, which is not known.
    private(set) var isLost = false

    /// - Parameter known: what was taken out of it, as far as that is known.
    init(_ number: Int32, _ known: Unfinished, _ trigger: DescriptorTrigger) {
        let mark = Mark(rawValue: Linux.mark(number))
        isLost = mark == .untold && known.bytes.isEmpty
        if trigger.framing == .line {
            isSkipping = known.isSkipping || (mark != nil && known.bytes.isEmpty)
            if isLost { Self.tellOfLoss(number) }
        } else {
            Self.end(number)
        }
    }

    /// Before something of a line is taken out that is not told yet.
    static func begin(_ number: Int32) { set(number, .untold) }

    /// Before the last of what is told of a line is taken out, whose end has not come.
    static func tellOfLoss(_ number: Int32) { set(number, .told) }

    /// The next byte begins a line.
    static func end(_ number: Int32) { set(number, nil) }

    private static func set(_ number: Int32, _ mark: Mark?) {
        // Fails for want of memory only; then nobody could be told.
        try? Linux.setMark(number, mark?.rawValue ?? 0)
    }
}
