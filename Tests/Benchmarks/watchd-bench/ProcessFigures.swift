import LinuxSystem

/// What the kernel counts of a process (`proc(5)`).
struct ProcessFigures {
    /// Of one thread, since it began.
    struct Thread {
        var name: String
        /// Times it gave the processor up by itself, and times it was taken away.
        var voluntary: Int
        var involuntary: Int
        /// ns on a processor, and times it was put on one; of a kernel that does not count them, 0.
        var runTime: Int
        var timeslices: Int
    }

    var threads: [Int32: Thread] = [:]
    /// KiB by the names of smaps_rollup: `Pss`, `Pss_Anon`, `Pss_File`, `Private_Dirty`, `Rss`.
    var memory: [String: Int] = [:]

    /// - Throws: when the process is gone.
    init(_ process: Int32) throws {
        for entry in try Linux.readFolder("/proc/\(process)/task") {
            let name = String(decoding: entry.name, as: UTF8.self)
            // A thread may end while it is looked at.
            guard let number = Int32(name), let thread = try? Thread("/proc/\(process)/task/\(name)") else { continue }
            threads[number] = thread
        }
        for (name, value) in Self.fields(try Linux.readFile("/proc/\(process)/smaps_rollup")) {
            memory[name] = Self.number(value)
        }
    }

    /// µs that a process, those that it has started and those that these have started were on a processor, with those
    /// that have been waited for (`proc_pid_stat(5)`: in hundredths of a second).
    static func processorTime(ofTree process: Int32) -> Int64 {
        let text = String(decoding: (try? Linux.readFile("/proc/\(process)/stat")) ?? [], as: UTF8.self)
        let fields = text.split(separator: ")").last?.split(separator: " ").map { Int64($0) ?? 0 } ?? []
        let own = fields.count > 14 ? 10_000 * fields[11...14].reduce(0, +) : 0
        let children = (try? Linux.readFile("/proc/\(process)/task/\(process)/children")) ?? []
        return String(decoding: children, as: UTF8.self).split(separator: " ").compactMap { Int32($0) }
            .reduce(own) { $0 + processorTime(ofTree: $1) }
    }

    /// Whether it has a descriptor of that process.
    static func hasPidfd(_ process: Int32, of other: Int32) -> Bool {
        let folder = "/proc/\(process)/fdinfo"
        return ((try? Linux.readFolder(folder)) ?? []).contains { entry in
            let text = (try? Linux.readFile("\(folder)/\(String(decoding: entry.name, as: UTF8.self))")) ?? []
            return fields(text).contains { $0 == "Pid" && number($1) == Int(other) }
        }
    }

    /// Lines `NAME: VALUE`.
    fileprivate static func fields(_ text: [UInt8]) -> [(name: String, value: Substring)] {
        String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
            line.firstIndex(of: ":").map { (String(line[..<$0]), line[line.index(after: $0)...]) }
        }
    }

    /// The first number of a value.
    fileprivate static func number(_ value: Substring) -> Int? {
        value.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
    }
}

extension ProcessFigures.Thread {
    fileprivate init(_ folder: String) throws {
        let status = Dictionary(
            ProcessFigures.fields(try Linux.readFile("\(folder)/status")), uniquingKeysWith: { first, _ in first })
        name = String(status["Name"]?.drop(while: \.isWhitespace) ?? "")
        voluntary = status["voluntary_ctxt_switches"].flatMap(ProcessFigures.number) ?? 0
        involuntary = status["nonvoluntary_ctxt_switches"].flatMap(ProcessFigures.number) ?? 0
        let counts = (try? Linux.readFile("\(folder)/schedstat")) ?? []
        let numbers = String(decoding: counts, as: UTF8.self).split(whereSeparator: \.isWhitespace).map { Int($0) ?? 0 }
        runTime = numbers.first ?? 0
        timeslices = numbers.count > 2 ? numbers[2] : 0
    }
}
