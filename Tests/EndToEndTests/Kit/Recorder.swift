import LinuxSystem
import ProgramKit

/// The handler `record` of the tests: it writes down, byte for byte, what it was told.
struct Recorded {
    /// The operation it ran for.
    let operation: Int
    /// Its words, the program left out.
    let arguments: [[UInt8]]
    /// Sorted by name.
    let environment: [(name: String, value: [UInt8])]
    let input: [UInt8]

    var inputText: String { String(decoding: input, as: UTF8.self) }

    subscript(variable: String) -> String? {
        environment.first { $0.name == variable }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    func bytes(_ variable: String) -> [UInt8]? { environment.first { $0.name == variable }?.value }

    static let script = """
        #!/bin/sh
        folder=${0%/*}
        run=$folder/runs/.$$
        mkdir "$run"
        cat /proc/$$/cmdline >"$run/words"
        cat /proc/$$/environ >"$run/environment"
        cat >"$run/input"
        mv "$run" "$folder/runs/$WATCHD_OPERATION-$$"

        """

    static func install(in folder: Folder) throws {
        try folder.write("record", script, mode: 0o755)
        try Linux.mkdir(folder["runs"], mode: 0o777)
        try Linux.chmod(folder["runs"], 0o777)
    }

    /// All that have ended, in the order of their operations.
    static func all(in folder: Folder) throws -> [Recorded] {
        let names = try Linux.readFolder(folder["runs"]).map { String(decoding: $0.name, as: UTF8.self) }
        return names.filter { !$0.hasPrefix(".") }.compactMap { name in
            name.split(separator: "-").first.flatMap { Int($0) }.map { Recorded(folder, name, operation: $0) }
        }.sorted { $0.operation < $1.operation }
    }

    private init(_ folder: Folder, _ name: String, operation: Int) {
        func strings(_ file: String) -> [[UInt8]] {
            folder.bytes("runs/\(name)/\(file)").split(separator: 0, omittingEmptySubsequences: false).dropLast()
                .map(Array.init)
        }
        self.operation = operation
        // The interpreter and the script come first.
        arguments = Array(strings("words").dropFirst(2))
        environment = strings("environment").map { entry in
            let end = entry.firstIndex(of: UInt8(ascii: "=")) ?? entry.endIndex
            return (String(decoding: entry[..<end], as: UTF8.self), Array(entry[end...].dropFirst()))
        }.sorted { $0.name < $1.name }
        input = folder.bytes("runs/\(name)/input")
    }
}

extension String {
    /// How often another text occurs in it.
    func occurrences(of text: String) -> Int { ranges(of: text).count }
}
