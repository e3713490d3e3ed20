import CInstructions
import Glibc
import LinuxSystem

/// Counts the instructions of an operation: by the processor's counter (`perf_event_open(2)`), or, where that is refused,
/// by valgrind, which runs this program once more for each count.
enum Instructions {
    enum Means: String, Encodable {
        case counter = "perf_event_open"
        case valgrind = "valgrind --tool=callgrind"
    }

    /// Of the two runs that are compared: what a run costs once falls out.
    private static let few = 2000
    private static let many = 6000

    /// Made before the first thread, so that it counts those of Dispatch, too.
    private static let counter = cinstructions_open()

    /// The counter, if there is one; else valgrind, if there is one.
    static var means: Means? {
        if counter >= 0 { return .counter }
        return valgrind == nil ? nil : .valgrind
    }

    /// - Throws: `Failure`, when valgrind tells no count.
    static func perOperation(_ contender: Contender, width: Int, _ means: Means) throws -> Double {
        func count(_ operations: Int) throws -> Int64 {
            switch means {
            case .counter: try countByCounter(contender, width, operations)
            case .valgrind: try countByValgrind(contender, width, operations)
            }
        }
        return try Double(count(many) - count(few)) / Double(many - few)
    }

    private static func countByCounter(_ contender: Contender, _ width: Int, _ operations: Int) throws -> Int64 {
        let work = contender.makeWork(width: width)
        try work.run(operations: few)
        let before = cinstructions_read(counter)
        try work.run(operations: operations)
        return cinstructions_read(counter) - before
    }

    private static let valgrind: String? = {
        let path = Linux.environment("PATH").map { String(decoding: $0, as: UTF8.self) } ?? "/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/valgrind" }.first {
            (try? Linux.stat($0))?.kind == .regular && $0.hasPrefix("/")
        }
    }()

    private static func countByValgrind(_ contender: Contender, _ width: Int, _ operations: Int) throws -> Int64 {
        guard let valgrind else { throw Failure(message: "there is no valgrind") }
        let program = String(decoding: try Linux.readlink("/proc/self/exe"), as: UTF8.self)
        // Valgrind 3.19 gives up at the debug information of a release build, so a copy without it is run.
        let script = """
            copy=$(mktemp) && strip -o "$copy" "$1" && chmod +x "$copy" || exit
            shift
            "$0" --tool=callgrind --callgrind-out-file=/dev/null "$copy" "$@"
            rm -f "$copy"
            """
        let arguments = [
            "/bin/sh", "-c", script, valgrind, program, "queue", "--only=\(contender.rawValue)", "--width=\(width)",
            "--operations=\(operations)",
        ]
        let text = try output(of: arguments)
        // `==4711== Collected : 123456`
        let counts = text.split(separator: "\n").filter { $0.contains("Collected :") }
        guard let count = counts.last?.split(separator: " ").last.flatMap({ Int64($0) }) else {
            throw Failure(message: "valgrind tells no count:\n\(text)")
        }
        return count
    }

    /// On standard error.
    private static func output(of arguments: [String]) throws -> String {
        let pipe = try Linux.pipe()
        let (read, write) = (pipe.readEnd.release(), pipe.writeEnd.release())
        defer { FileDescriptor(owning: read).close() }
        do {
            defer { FileDescriptor(owning: write).close() }
            try Linux.open("/dev/null", .readingAndWriting).use { null in
                let child = try Linux.spawn(
                    SpawnSpecification(
                        path: Array(arguments[0].utf8), arguments: arguments.map { Array($0.utf8) },
                        environment: [Array("PATH=/usr/bin:/bin".utf8)], descriptors: [null, null, write]))
                child.pidfd.close()
            }
        }
        var text: [UInt8] = []
        while case let bytes = try Linux.read(read, atMost: 65_536), !bytes.isEmpty { text += bytes }
        return String(decoding: text, as: UTF8.self)
    }
}
