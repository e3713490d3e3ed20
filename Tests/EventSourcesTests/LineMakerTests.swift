import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

@Suite("Lines that are refused", .ownThread) struct LineMakerTests {
    private func trigger(_ listener: DescriptorTrigger.Listener) -> DescriptorTrigger {
        var trigger = DescriptorTrigger(listener: listener, framing: .line, maxLength: 4)
        trigger.include = [Array("^[a-z]*$".utf8)]
        return trigger
    }

    /// Nobody else tells of it: there is no event that is incomplete.
    @Test(arguments: [false, true]) func oneThatIsCutAndRefusedIsLogged(isDurable: Bool) throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            try Rim.with {
                StreamSource($0, .unix(path), .stream, trigger(.stream(.unix(path))), $1, isDurable: isDurable)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                let socket = try Linux.socket(for: .unix(path), .stream, nonBlocking: false).release()
                defer { FileDescriptor(owning: socket).close() }
                try Linux.connect(socket, .unix(path))
                try Linux.writeAll(socket, "1\nab\nabcdef\n12345\nend\n".utf8)
                try wait(for: "the end, got \(rim.texts)") { rim.texts == ["ab", "abcd", "end"] }
                #expect(rim.filtered == 2 && rim.gap == 2)
                #expect(rim.warnings == ["a line longer than MaxLength=4 refused by Include=, by the beginning only"])
                // Not one for each: the next one is told a minute later.
                try Linux.writeAll(socket, "12345\nmore\n".utf8)
                try wait(for: "more, got \(rim.texts)") { rim.texts.last == "more" }
                #expect(rim.warnings.count == 1)
            }
        }
    }

    @Test func oneThatIsCutIsLoggedOnceAMinute() throws {
        try Folder.with { folder in
            let path = folder["socket"].pathBytes
            var whole = trigger(.stream(.unix(path)))
            whole.include = []
            try Rim.with {
                StreamSource($0, .unix(path), .stream, whole, $1, isDurable: false)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                let socket = try Linux.socket(for: .unix(path), .stream, nonBlocking: false).release()
                defer { FileDescriptor(owning: socket).close() }
                try Linux.connect(socket, .unix(path))
                try Linux.writeAll(socket, "ab\nabcdef\n12345\nend\n".utf8)
                try wait(for: "the end, got \(rim.texts)") { rim.texts == ["ab", "abcd", "1234", "end"] }
                #expect(rim.gap == 2)
                #expect(rim.warnings.count == 1)
                #expect(rim.warnings.first?.hasSuffix("longer than MaxLength=4 told by the beginning only") == true)
            }
        }
    }

    @Test func theSameOfATail() throws {
        try Folder.with { folder in
            try folder.write("log", "")
            let path = folder["log"].pathBytes
            try Rim.with {
                TailSource($0, path: path, trigger(.tail(path)), $1)
            } then: { rim, _ in
                try rim.waitUntilArmed()
                try folder.append("log", "1\n12345\nab\n")
                try wait(for: "ab") { rim.texts == ["ab"] }
                #expect(rim.filtered == 2 && rim.gap == 1 && rim.warnings.count == 1)
            }
        }
    }
}
