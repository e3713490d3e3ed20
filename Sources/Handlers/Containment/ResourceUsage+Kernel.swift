import Engine
import LinuxSystem

extension ResourceUsage {
    /// As the kernel has counted it: memory and input and output where those controllers are on (`memory.peak`: Linux
    /// 5.19), processors always.
    init(of group: ControlGroup) {
        self.init()
        peakMemory = group.number("", in: "memory.peak")
        processorTime = group.number("usage_usec", in: "cpu.stat")
        bytesRead = group.sum("rbytes", in: "io.stat")
        bytesWritten = group.sum("wbytes", in: "io.stat")
    }
    /// Of a command without a cgroup.
    init(_ used: ProcessUsage) {
        self.init()
        isOfProcess = true
        (peakMemory, processorTime) = (used.peakMemory, used.processorTime)
        (bytesRead, bytesWritten) = (used.bytesRead, used.bytesWritten)
    }
}
