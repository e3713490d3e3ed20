import ControlInterface
import ControlKit
import JSON
import LinuxSystem
import ProgramKit
import Schedule
import Synchronization
import Testing
import Varlink

@testable import ControlClient

@Suite("Paths as arguments") struct PathArgumentTests: VerbTesting {
    private static let cafe = Array("caf".utf8) + [0xE9] + Array(".txt".utf8)

    @Test(
        arguments: [
            ("caf\\xe9.txt", cafe), ("a\\\\b", Array("a\\b".utf8)), ("\\x1b\\\\x41", [0x1B] + Array("\\x41".utf8)),
            // Nothing is printed so.
            ("a\\b", nil), ("\\x41", nil), ("\\xE9", nil), ("\\xc3\\xa9", nil), ("\\xe", nil), ("\\x00", nil),
            ("\\", nil), ("caf.txt", nil), ("\\x+9", nil),
        ] as [(String, [UInt8]?)])
    func whatIsPrintedIsUnderstood(text: String, bytes: [UInt8]?) {
        #expect(PathArgument.unescaped(Array(text.utf8)) == bytes)
        if let bytes { #expect(bytes.printable == text) }
    }

    @Test func aFileWhoseNameOnlyLooksLikeAnEscapeIsItself() throws {
        try Folder.with { folder in
            let argument = Array(folder["caf\\xe9.txt"].utf8)
            #expect(try PathArgument.path(argument) == folder[Self.cafe])
            try folder.write(Self.cafe, [])
            #expect(try PathArgument.path(argument) == folder[Self.cafe])
            try folder.write("caf\\xe9.txt", "")
            #expect(try PathArgument.path(argument) == argument)
        }
    }

    @Test func aRelativePathIsCompleted() throws {
        let folder = try Linux.readlink("/proc/self/cwd")
        #expect(try PathArgument.path(Self.cafe) == folder + [UInt8(ascii: "/")] + Self.cafe)
        #expect(try PathArgument.path(Array("caf\\xe9.txt".utf8)) == folder + [UInt8(ascii: "/")] + Self.cafe)
    }

    @Test func theSlashThatAShellCompletesAFolderWithIsNoPartOfIt() throws {
        #expect(try PathArgument.path(Array("/srv/in//".utf8)) == Array("/srv/in".utf8))
        #expect(try PathArgument.path(Array("//".utf8)) == Array("/".utf8))
    }

    @Test func onlyAPathMayBeAnyBytes() throws {
        func bytes(_ words: [String], _ last: [UInt8]) -> [[UInt8]] { words.map { Array($0.utf8) } + [last] }
        let path = [UInt8(ascii: "/")] + Self.cafe
        #expect(try Invocation(bytes: bytes(["explain"], path)).operandBytes == [path])
        let run = try Invocation(bytes: bytes(["run", "--data", "1", "up"], path) + [Array("--json".utf8)])
        #expect(run.operandBytes == [Array("up".utf8), path] && run.has(.json))
        for words in [["run"], ["status"], ["run", "--line"], ["history"]] {
            #expect(throws: Failure.isNoText) { try Invocation(bytes: bytes(words, path)) }
        }
        var noPath = try Invocation(bytes: bytes(["explain"], Self.cafe))
        noPath.options[.socket] = "/nowhere"
        let session = Session(
            socketPath: "/nowhere", isJSON: false,
            screen: Screen(width: 80, isColoured: false, now: try .init(parsing: Samples.now), local: .utc),
            write: { _ in })
        #expect(throws: Failure.isNoText) { try noPath.verb.run(noPath, session) }
    }

    @Test func theDaemonIsToldTheBytes() throws {
        func explained(_ word: String) throws -> Explain.Parameters? {
            let asked = Mutex<Explain.Parameters?>(nil)
            _ = try run(["explain", word]) { call in
                asked.withLock { $0 = try? call.parameters() }
                return .error(.invalidParameter("path"))
            }
            return asked.withLock { $0 }
        }
        let path = Base64.encode([UInt8(ascii: "/")] + Self.cafe)
        #expect(try explained("/caf\\xe9.txt")?.pathBase64 == path)
        #expect(try explained("/a\\\\b")?.path == "/a\\b")
        let asked = Mutex<Run.Parameters?>(nil)
        _ = try run(["run", "up", "/caf\\xe9.txt", "/b"]) { call in
            asked.withLock { $0 = try? call.parameters() }
            return .error(.invalidParameter("path"))
        }
        let told = asked.withLock { $0 }
        #expect(told?.pathsBase64 == [path, "L2I="] && told?.paths == nil)
    }

    @Test func anEventNamesThePathAsItIsTakenAgain() {
        let event = JSONValue.object([
            "source": .string("up"), "kind": .string("path"), "event": .string("written"),
            "path": .string("/caf\u{FFFD}"),
            "path_base64": .string(Base64.encode(Array("/caf".utf8) + [0xE9])),
        ])
        #expect(EventText.describe(event) == "path/up  written /caf\\xe9")
    }
}
