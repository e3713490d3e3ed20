import LinuxSystem
import Testing

@testable import ControlClient

/// `config/man/watchctl.1` beside `Verb`, `Option` and `ExitCode`.
@Suite("Manual page of watchctl")
struct ManualTests {
    private static let page: String = {
        // …/Tests/watchctlTests/ManualTests.swift
        var folder = #filePath[...]
        for _ in 0..<3 { folder = folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)] }
        return (try? Linux.readFile("\(folder)/config/man/watchctl.1")).map { String(decoding: $0, as: UTF8.self) }
            ?? ""
    }()

    @Test func optionsAndVerbsAreThosePrinted() {
        #expect(Self.page.contains(ManualText.sections()), "watchctl help --mdoc prints the part")
    }

    @Test func everyVerbAndOptionIsInIt() {
        let lines = Self.page.split(separator: "\n")
        for verb in Verb.all {
            #expect(lines.contains { $0.split(separator: " ").starts(with: [".It", "Ic", verb.name[...]]) })
        }
        for option in Option.allCases {
            #expect(lines.contains { $0.hasPrefix(".It Fl \(option.rawValue.dropFirst())") }, "\(option)")
        }
    }

    @Test func everyExitStatusIsInIt() {
        for code in [ExitCode.done, .failed, .usage, .unreachable, .permissionDenied, .badWatchFile] {
            #expect(Self.page.contains("\n.It \(code.rawValue)\n"), "\(code)")
        }
    }

    @Test func noTextBecomesARequest() {
        for line in ManualText.sections().split(separator: "\n") where line.hasPrefix(".") {
            let macro = line.dropFirst().prefix(2)
            #expect(["Sh", "Bl", "El", "It", "Ql", "\\\""].contains(macro), "\(line)")
        }
    }
}
