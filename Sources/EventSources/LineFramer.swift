/// Cuts a stream of bytes into lines. Pure.
///
/// A line ends at a newline, which is not part of it, or when it is as long as allowed: then it is delivered in pieces,
/// each but the last marked incomplete, so that nothing is lost and memory is bounded.
package struct LineFramer: Sendable {
    package struct Line: Equatable, Sendable {
        package var bytes: [UInt8]
        package var isIncomplete = false
    }

    private let maxLength: Int
    private var rest: [UInt8] = []

    package init(maxLength: Int) { self.maxLength = maxLength }

    /// The lines that these bytes complete.
    package mutating func push(_ bytes: [UInt8]) -> [Line] {
        var lines: [Line] = []
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            rest += bytes[start..<end]
            while rest.count > maxLength || (rest.count == maxLength && end == bytes.count) {
                lines.append(Line(bytes: Array(rest.prefix(maxLength)), isIncomplete: true))
                rest.removeFirst(maxLength)
            }
            if end < bytes.count {
                lines.append(Line(bytes: rest))
                rest = []
            }
            start = end + 1
        }
        return lines
    }

    /// What is left when the writer has gone: a line without its end.
    package mutating func finish() -> Line? {
        guard !rest.isEmpty else { return nil }
        defer { rest = [] }
        return Line(bytes: rest, isIncomplete: true)
    }
}
