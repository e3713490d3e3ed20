/// The resources that the processes of a run have used together; known when they have ended.
package struct ResourcesUsed: Codable, Equatable, Sendable {
    package enum Counted: String, Codable, CaseIterable, Sendable {
        /// Of all its processes, by their cgroup.
        case cgroup
        /// Of its first process and of those that were waited for.
        case process
    }

    enum CodingKeys: String, CodingKey {
        case counted
        case cpuUsec = "cpu_usec"
        case peakMemoryBytes = "peak_memory_bytes"
        case readBytes = "read_bytes"
        case writtenBytes = "written_bytes"
    }

    package var counted: Counted
    package var cpuUsec: Int?
    package var peakMemoryBytes: Int?
    /// From and to disks.
    package var readBytes: Int?
    package var writtenBytes: Int?

    package init(
        _ counted: Counted, cpuUsec: Int? = nil, peakMemoryBytes: Int? = nil, readBytes: Int? = nil,
        writtenBytes: Int? = nil
    ) {
        self.counted = counted
        self.cpuUsec = cpuUsec
        self.peakMemoryBytes = peakMemoryBytes
        self.readBytes = readBytes
        self.writtenBytes = writtenBytes
    }
}
