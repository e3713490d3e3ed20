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

    @Test func oneThatIsNotWatchedAnyMoreIsTold() throws {
        try Folder.with { folder in
            let rim = try Rim()
            let path = folder["pid"].pathBytes
            let source = rim.open { ProcessSource($0, pidFile: path, $1) }
            defer { rim.on(source) { $0.close() } }
            // One that has been watched for longest has been started first, however coarse the kernel's clock is.
            let programs = try (0..<66).map { _ in try start() }
            for program in programs {
                let count = rim.inputs.count
                try folder.write("pid", "\(program.processID)\n")
                try wait(for: "process \(program.processID) to be seen") { rim.inputs.count > count }
            }
            try wait(for: "two to be lost") { rim.gap == 2 }
            #expect(rim.warnings.count == 2)
            #expect(rim.warnings.allSatisfy { $0.contains("64 processes that") && $0.contains("will not be told") })
            for program in programs { program.send(SIGKILL) }
            try wait(for: "the ends of the others") { rim.facts.count == 64 }
        }
    }
}
