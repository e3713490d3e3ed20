import ControlInterface
import ControlKit
import Foundation
import LinuxSystem
import Testing
import Varlink

/// The program itself, as a shell sees it.
@Suite("watchctl")
struct ProgramTests {
    private struct Outcome {
        var status: Int32
        var output: String
        var error: String
    }

    private func watchctl(_ arguments: [String]) throws -> Outcome {
        let tests = String(decoding: try Linux.readlink("/proc/self/exe"), as: UTF8.self)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(
            "watchctl")
        process.arguments = arguments
        process.environment = ["TZ": "UTC"]
        let (output, error) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = error
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let complaint = String(decoding: error.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Outcome(status: process.terminationStatus, output: text, error: complaint)
    }

    @Test func itsExitStatusSaysHowItWent() throws {
        let server = try SampleServer(interfaces: [Manager.interface]) { call in
            switch call.name {
            case "GetStatus": .reply(Sample.json(Samples.status))
            case "Stop": .error(.permissionDenied)
            case "Reload": .error(ManagerError.invalidWatchFile(diagnostics: ["a:1:1: error: no\n\tx\n\t^"]).reply)
            default: .error(ManagerError.noSuchName(name: "x\u{1b}", nearest: nil).reply)
            }
        }
        defer { server.stop() }
        let socket = ["--socket", server.path]
        #expect(try watchctl(socket).status == 0)
        #expect(try watchctl(socket + ["resume", "x"]).status == 1)
        #expect(try watchctl(socket + ["resume", "x"]).error.hasPrefix("watchctl: there is no “x\\x1b”; "))
        #expect(try watchctl(["nonsense"]).status == 2)
        #expect(try watchctl(["--socket", "/nonexistent/socket"]).status == 3)
        #expect(try watchctl(socket + ["stop"]).status == 4)
        let reload = try watchctl(socket + ["reload"])
        #expect(reload.status == 78)
        #expect(
            reload.error
                == "a:1:1: error: no\n    x\n    ^\nwatchctl: the watch file has errors; nothing was changed\n")
        #expect(reload.output.isEmpty)
    }

    @Test func withoutATerminalThereAreNoColours() throws {
        let server = try SampleServer(interfaces: [Manager.interface]) { _ in .reply(Sample.json(Samples.status)) }
        defer { server.stop() }
        let outcome = try watchctl(["--socket", server.path])
        #expect(outcome.output.contains("DEGRADED: 1 problem, 1 pause"))
        #expect(!outcome.output.contains("\u{1b}"))
    }

    @Test func helpAndVersionNeedNoDaemon() throws {
        #expect(try watchctl(["--help"]).output.contains("Exit status"))
        #expect(try watchctl(["emit", "--help"]).output.hasPrefix("watchctl emit "))
        #expect(try watchctl(["--version"]).output == "watchctl \(Manager.softwareVersion)\n")
    }

    @Test func aMissingWatchFileIsADiagnostic() throws {
        let outcome = try watchctl(["check", "/nonexistent/a.watch"])
        #expect(outcome.status == 78)
        #expect(outcome.output.contains("/nonexistent/a.watch: error: "))
    }
}
