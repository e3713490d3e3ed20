import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// A `sleep` for handlers that sleeps until the test says so. A person's steps have the real one: nobody wakes them.
struct Sleepers {
    let folder: Folder

    /// The FIFO is there before its reader, so that a sleeper is seen as soon as it sleeps, and gone when it ends.
    private static let program = """
        #!/bin/sh
        gate="${0%/*}/../asleep.$$"
        mkfifo "$gate"
        trap 'rm -f "$gate"; exit 143' TERM
        { read -r _ <"$gate"; } 2>/dev/null
        rm -f "$gate"

        """

    /// `bin`: programs that handlers and steps find first. `asleep`: the one that only handlers find.
    static func install(in folder: Folder) throws -> Sleepers {
        for name in ["bin", "asleep"] { try folder.makeFolder(name) }
        try folder.write("asleep/sleep", program, mode: 0o755)
        let control = "#!/bin/sh\nexec \(try Products.path("watchctl")) --socket \(folder["socket"]) \"$@\"\n"
        try folder.write("bin/watchctl", control, mode: 0o755)
        try folder.write("bin/sendmail", "#!/bin/sh\ncat >>\"${0%/*}/../mail\"\n", mode: 0o755)
        return Sleepers(folder: folder)
    }

    static func path(ofStepsIn folder: Folder) -> String { "PATH=\(folder["bin"]):/usr/sbin:/usr/bin:/sbin:/bin" }

    static func path(ofHandlersIn folder: Folder) -> String {
        "PATH=\(folder["asleep"]):\(path(ofStepsIn: folder).dropFirst("PATH=".count))"
    }

    private func gates() throws -> [String] {
        try Linux.readFolder(folder.path).map { String(decoding: $0.name, as: UTF8.self) }
            .filter { $0.hasPrefix("asleep.") }
    }

    /// Lets all that run go on, once each of them sleeps; `before` that, there is quiet.
    func wake(_ watchd: Watchd, before: () throws -> Void) throws {
        var asleep: [String] = []
        try wait(for: "every operation that runs to sleep, \(asleep)") {
            asleep = try gates()
            let running = try watchd.call(GetStatus.self, .init()).processes
            return asleep.count == running && running > 0
        }
        try before()
        for gate in asleep {
            try wait(for: "\(gate) to be read, or gone") {
                do throws(SystemError) {
                    let descriptor = try Linux.open(folder[gate], [.writing, .nonBlocking])
                    try descriptor.use { number throws(SystemError) in try Linux.writeAll(number, "\n".utf8) }
                    return true
                } catch {
                    return error.errno == .noSuchFile
                }
            }
        }
    }
}
