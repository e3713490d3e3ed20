/// Replies that wait to be written.
struct OutputQueue {
    private var buffer: [UInt8] = []
    /// Where the unwritten bytes begin in `buffer`.
    private var start = 0
    /// Where each reply that is not wholly written ends in `buffer`.
    private var ends: [Int] = []

    var bytes: ArraySlice<UInt8> { buffer[start...] }

    /// - Parameter count: bytes of one more reply. It always fits if it is alone.
    func hasRoom(for count: Int) -> Bool {
        guard !ends.isEmpty else { return true }
        return ends.count < ServerConnection.maximumQueuedReplies
            && bytes.count + count <= ServerConnection.maximumQueuedBytes
    }

    mutating func append(_ message: [UInt8]) {
        // Written bytes are let go before they outweigh the rest.
        if start > buffer.count / 2 {
            buffer.removeFirst(start)
            ends = ends.map { $0 - start }
            start = 0
        }
        buffer += message
        buffer.append(0)
        ends.append(buffer.count)
    }

    mutating func consume(_ count: Int) {
        start = min(start + count, buffer.count)
        ends.removeFirst(ends.prefix { $0 <= start }.count)
        if ends.isEmpty {
            buffer = []
            start = 0
        }
    }
}
