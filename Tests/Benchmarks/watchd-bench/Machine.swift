import LinuxSystem

/// What was measured on, and how busy it was with other things: figures of a busy machine say little.
struct Machine: Encodable, CustomStringConvertible {
    var kernel: String
    var processors: Int
    /// Load average of the minute before (`proc_loadavg(5)`).
    var load: Double

    /// As it is now, so to be asked before anything is measured.
    init() {
        kernel = Self.firstWord("/proc/sys/kernel/osrelease")
        processors = Linux.processorCount
        load = Double(Self.firstWord("/proc/loadavg")) ?? 0
    }

    var description: String {
        let text = "Linux \(kernel), \(processors) processors, load \(load.text(1)) before"
        return load > Double(processors) / 2 ? "\(text): busy, so the figures say little" : text
    }

    private static func firstWord(_ path: String) -> String {
        let text = String(decoding: (try? Linux.readFile(path)) ?? [], as: UTF8.self)
        return text.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? ""
    }
}
