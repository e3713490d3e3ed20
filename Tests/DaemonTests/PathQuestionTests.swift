import ControlInterface
import JSON
import LinuxSystem
import ProgramKit
import Testing

@testable import Daemon

/// Paths of any bytes in questions and runs.
@Suite("Paths that are asked about", .ownThread) struct PathQuestionTests {
    private func with(_ body: (Folder, AskedRuntime) throws -> Void) throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            let watch = """
                [Path uploads]
                Path=\(folder["in"])
                Exec=/bin/true %@

                [Path meta]
                Path=\(folder["in"])
                Events=deleted
                Exec=/bin/true %@

                """
            try AskedRuntime.with(watch) { try body(folder, $0) }
        }
    }

    @Test func aNameThatIsNotUTF8CanBeRunAndExplained() throws {
        try with { folder, asked in
            let path = folder[Array("in/caf".utf8) + [0xE9]]
            var run = Run.Parameters(name: "uploads")
            run.set(paths: [path])
            #expect(run.paths == nil && run.pathsBase64 == [Base64.encode(path)])
            let id = try #require(try asked.call(Run.self, run).operations.first)
            _ = try asked.ended(1)
            let event = try asked.call(GetOperation.self, .init(id: id)).operation.events.first
            #expect(event?.members?["path_base64"] == .string(Base64.encode(path)))
            let explained = try asked.call(Explain.self, .init(path: path))
            #expect(explained.object == path.printable && explained.object.hasSuffix("/caf\\xe9"))
            #expect(explained.steps.contains { $0.operation == id }, "\(explained.steps)")
        }
    }

    @Test func aFileThatIsBeingWrittenIsExplained() throws {
        try with { folder, asked in
            func open(_ name: String) throws -> [String] {
                try asked.call(Explain.self, .init(path: folder[name])).steps.filter { $0.code == "open" }.map(
                    \.sentence)
            }
            try Linux.open(folder["in/a"], [.writing, .creating]).use { _ in
                let sentences = try open("in/a")
                let process = "process \(Linux.processID)"
                // Another test's child may have it for a moment.
                #expect(sentences.count == 1 && sentences[0].contains(process), "\(sentences)")
                #expect(sentences.first?.hasSuffix(" it open for writing: written comes when it is closed") == true)
                #expect(try open("b").isEmpty && open("in").isEmpty, "no source tells when that is written")
            }
            // Another test's child may have it for a moment.
            try wait(for: "nobody to write it") { try open("in/a").isEmpty }
            try Linux.open(folder["in/a"], [.reading]).use { _ in
                let reader = try asked.call(Explain.self, .init(path: folder["in/a"])).steps
                #expect(!reader.contains { $0.sentence.contains("process \(Linux.processID) ") }, "\(reader)")
            }
        }
    }

    @Test func whatIsNoPathIsRefused() throws {
        try with { _, asked in
            let wrong: [(String, [String: JSONValue])] = [
                (Explain.fullName, ["path_base64": .string("*")]),
                (Explain.fullName, ["path_base64": .string(Base64.encode(Array("in/a".utf8)))]),
                (Explain.fullName, ["path_base64": .string(Base64.encode([47, 0]))]),
                (Explain.fullName, ["path_base64": .string("Lw=="), "path": .string("/")]),
                (Run.fullName, ["name": .string("uploads"), "paths_base64": .array([.string("*")])]),
                (
                    Run.fullName,
                    [
                        "name": .string("uploads"), "paths_base64": .array([.string("Lw==")]),
                        "paths": .array([.string("/")]),
                    ]
                ),
            ]
            for (method, parameters) in wrong {
                let answer = try asked.ask(method, .object(parameters))
                #expect(answer.error == "InvalidParameter", "\(parameters): \(answer)")
            }
        }
    }
}
