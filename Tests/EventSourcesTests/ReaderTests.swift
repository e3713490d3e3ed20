import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

@Suite("Descriptors that are found") struct ReaderTests {
    @Test func aPassedPipeIsReadAndStaysOpenForTheNextOne() throws {
        let (read, write) = try Linux.pipe().split()
        defer { for number in [read, write] { FileDescriptor(owning: number).close() } }
        let trigger = DescriptorTrigger(listener: .passed("in"), framing: .line)
        for round in 1...2 {
            try Rim.with {
                let passed = PassedDescriptors(["in": [read]])
                return ReaderSource($0, trigger, $1, kind: .bytes) { _ throws(SystemError) in
                    try passed.duplicate("in")
                }
            } then: { rim, _ in
                try rim.waitUntilArmed()
                try Linux.writeAll(write, "line \(round)\n".utf8)
                try wait(for: "the line") { rim.texts == ["line \(round)"] }
            }
        }
    }

    @Test func whatWasNotPassedIsSaid() throws {
        let trigger = DescriptorTrigger(listener: .passed("out"), framing: .line)
        try Rim.with {
            let passed = PassedDescriptors()
            return ReaderSource($0, trigger, $1, kind: .bytes) { _ throws(SystemError) in
                try passed.duplicate("out")
            }
        } then: { rim, _ in
            try wait(for: "it to be said") {
                if case .failed(let reason, _) = rim.condition { reason.contains("nothing was passed") } else { false }
            }
        }
    }
}
