import Engine
import Glibc
import LinuxSystem
import ProgramKit
import Testing
@testable import EventSources

@Suite("Processes of a pid file") struct ProcessSourceTests {
    private func start() throws -> Program {
        let null = try Linux.open("/dev/null", .readingAndWriting).release()
        defer { FileDescriptor(owning: null).close() }
        return try Program(
            ["sleep", "1000"].map(\.pathBytes), environment: Program.environment, descriptors: [null, null, null])
    }

    @Test func whatIsRefusedIsNamed() throws {
        try Folder.with { folder in
            let path = folder["pid"].pathBytes
            try folder.write("pid", "1\n")
            try Rim.with {
                ProcessSource($0, pidFile: path, $1)
            } then: { rim, _ in
                for (text, reason) in [
                    ("1", "names process 1, which nothing outlives"), ("0", "holds no process number"),
                    ("x", "holds no process number"), ("\(getpid())", "names watchd itself"),
                ] {
                    try folder.write("pid", text)
                    let sentence = "\(folder["pid"]) \(reason); waiting for it to change"
                    try wait(for: sentence) { rim.condition == .waiting(sentence) }
                }
            }
        }
    }

    @Test func oneThatIsNotWatchedAnyMoreIsTold() throws {
        try Folder.with { folder in
            let rim = try Rim()
            let path = folder["pid"].pathBytes
            let source = rim.open { ProcessSource($0, pidFile: path, $1) }
            defer { rim.on(source) { $0.close() } }
            let programs = try (0..<66).map { _ in try start() }
            for (index, program) in programs.enumerated() {
                try folder.write("pid", "\(program.processID)\n")
                try wait(for: "process \(program.processID) to be watched") {
                    var count = 0
                    rim.on(source) { count = $0.descriptorCount }
                    return count + rim.gap == index + 1
                }
            }
            #expect(rim.gap == 2)
            #expect(rim.warnings.count == 2)
            #expect(rim.warnings.allSatisfy { $0.contains("64 processes that") && $0.contains("will not be told") })
            for program in programs { program.send(SIGKILL) }
            for program in programs { program.wait() }
            try wait(for: "the ends of the others") { rim.facts.count == 64 }
        }
    }
}
