import LinuxSystem
import ProgramKit
import Testing

/// A run of the handler `job`, which notes what it is told, and then waits for the file `go`, or `go.OPERATION`.
/// `job N` fails up to attempt N.
struct Job {
    let pid: Int32
    let told: Told

    var operation: Int { told.operation }

    private static let script = """
        #!/bin/sh
        cd "${0%/*}" || exit
        read -r event
        printf '%s\\n' "$$ $event" >>begun
        until [ -e go ] || [ -e "go.$WATCHD_OPERATION" ]; do [ -e watch ] || exit 1; sleep 0.02; done
        printf '%s\\n' "$WATCHD_OPERATION" >>ended
        [ "$WATCHD_ATTEMPT" -gt "${1-0}" ]

        """

    /// Also `bin/cat` and `bin/sleep`, whose words name the folder, so that what is left behind is seen.
    static func install(in folder: Folder) throws {
        try folder.write("job", script, mode: 0o755)
        try folder.makeFolder("bin")
        for name in ["cat", "sleep"] { try Linux.symlink(folder["bin/\(name)"], to: "/bin/\(name)") }
    }

    init(_ line: String) throws {
        let parts = line.split(separator: " ", maxSplits: 1)
        pid = try #require(parts.first.flatMap { Int32($0) })
        told = try Told(parts.last ?? "")
    }

    var isAlive: Bool { (try? Linux.stat("/proc/\(pid)/exe")) != nil }
}
