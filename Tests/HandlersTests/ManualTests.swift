import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import Handlers

/// `config/man/watchd.handler.7` beside what a command is given.
@Suite("Manual page of handlers", .ownThread)
struct ManualTests {
    private static let page: String = {
        // …/Tests/HandlersTests/ManualTests.swift
        var folder = #filePath[...]
        for _ in 0..<3 { folder = folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)] }
        let file = try? Linux.readFile("\(folder)/config/man/watchd.handler.7")
        return file.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }()

    private static func names(_ macro: String) -> Set<String> {
        Set(
            page.split(separator: "\n").filter { $0.hasPrefix(".") }.flatMap { line in
                line.split(separator: "\(macro) ").dropFirst().flatMap { $0.split(separator: " ").map(String.init) }
            })
    }

    @Test func everyVariableIsInIt() {
        let names = Self.names("Ev")
        for (name, specifier) in ChildEnvironment.scalars {
            #expect(names.contains(name), "\(name)")
            // The check of watch files proposes it.
            #expect([nil, name].contains(specifier.foreignVariable))
        }
        let acquired = SemaphoreDefinition.variable("name")
        #expect(names.contains(acquired))
        let others: Set<String> = ["WATCHD_PART", "WATCHD_INSTANCE", "WATCHD_WORKER", acquired]
        let known = Set(ChildEnvironment.scalars.map { $0.0 }).union(others)
        for name in names where name.hasPrefix("WATCHD_") { #expect(known.contains(name), "\(name) is not set") }
    }

    @Test func everyMemberOfAnEventIsInIt() {
        let names = Self.names("Cm")
        for key in EventBody.Member.allCases { #expect(names.contains(key.rawValue), "\(key.rawValue)") }
    }

    @Test func thePathOfCommandsIsInIt() { #expect(Self.page.contains(ChildEnvironment.path)) }
}
