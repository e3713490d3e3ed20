/// The output of a run so far.
package struct RunOutput: Equatable, Sendable {
    /// The end of it, at most `OutputCapture.kept` bytes.
    package var end: [UInt8] = []
    /// Bytes in all.
    package var total = 0
    /// A later watchd has found the run: what it had written before is missing.
    package var lacksBeginning = false

    package init(end: [UInt8] = [], total: Int = 0) { (self.end, self.total) = (end, total) }

    package static func + (left: RunOutput, right: RunOutput) -> RunOutput {
        var sum = RunOutput(
            end: Array((left.end + right.end).suffix(OutputCapture.kept)), total: left.total + right.total)
        sum.lacksBeginning = left.lacksBeginning || right.lacksBeginning
        return sum
    }
}
