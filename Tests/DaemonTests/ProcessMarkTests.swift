import Engine
import LinuxSystem
import Testing
import WatchFile

@testable import Daemon

/// Processes of supervised commands, as the store keeps them.
@Suite("Processes in the store") struct ProcessMarkTests {
    private let process = StoredProcess(
        source: SourceID(.process, "web.1"), copy: 3, start: 4711, pid: 4242, started: 1_800_000_000_000_000,
        seen: 5_000_000, launch: LaunchFingerprint("2:18446744073709551615"))

    @Test func whatIsWrittenIsReadBack() {
        #expect(StateCoding.process(StateCoding.mark(process), of: "web.1/3") == process)
        var unknown = process
        unknown.launch = nil
        #expect(StateCoding.process(StateCoding.mark(unknown), of: "web.1/3") == unknown)
    }

    /// An older watchd stored a number that hung on the names in its program; a later one may store anything.
    @Test func whatAnotherVersionKnewOfTheLaunchIsNotKnown() {
        var unknown = process
        unknown.launch = nil
        let mark = StateCoding.mark(unknown)
        for launch in ["18446744073709551615", "1:7", "3:7", "2:", "2:x", "2:07", "2:7:7", ":"] {
            let other = mark + Array(" \(launch)".utf8)
            #expect(StateCoding.process(other, of: "web.1/3") == unknown, "\(launch)")
        }
        #expect(StateCoding.process(mark + Array(" 2:7".utf8), of: "web.1/3")?.launch?.description == "2:7")
    }

    @Test func whatIsDamagedOrOfAnotherBootIsNoProcess() {
        let mark = StateCoding.mark(process)
        for name in ["web.1", "web.1/x", "web.1/-1", "a/b/3", "", "/"] {
            #expect(StateCoding.process(mark, of: name) == nil, "\(name)")
        }
        let other = Array("another-boot".utf8) + mark.drop { $0 != UInt8(ascii: " ") }
        #expect(StateCoding.process(other, of: "web.1/3") == nil)
        #expect(StateCoding.process([], of: "web.1/3") == nil)
        for text in [" 1", " 1 1 1 1", " 1 0 1 1", " 1 2 x 1", " 1 2 -1 1", " 99999999999999999999 2 1 1"] {
            #expect(StateCoding.process(Linux.bootID + Array(text.utf8), of: "web.1/3") == nil, "\(text)")
        }
    }
}
