import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// FIFOs and socket files that stand there already, or that somebody else has put there.
@Suite("Owners of FIFOs and sockets", .ownThread) struct FileOwnerTests {
    static let isRoot = Linux.effectiveUserID == 0
    private let stranger: UInt32 = 12_345

    enum Kind: CaseIterable {
        case fifo, readyFIFO, stream, datagram

        func trigger(_ path: String) -> DescriptorTrigger {
            switch self {
            case .fifo: DescriptorTrigger(listener: .fifo(path.pathBytes), framing: .line)
            case .readyFIFO: DescriptorTrigger(listener: .fifo(path.pathBytes), framing: .ready)
            case .stream: DescriptorTrigger(listener: .stream(.unix(path.pathBytes)), framing: .line)
            case .datagram: DescriptorTrigger(listener: .datagram(.unix(path.pathBytes)), framing: .datagram)
            }
        }

        var isFIFO: Bool { self == .fifo || self == .readyFIFO }

        /// Makes one that nobody listens behind.
        func make(_ path: String) throws {
            if isFIFO { return try Linux.mkfifo(path, mode: 0o666) }
            try Linux.socket(for: .unix(path.pathBytes), self == .stream ? .stream : .datagram).use {
                try Linux.bind($0, .unix(path.pathBytes))
            }
        }
    }

    private func waitUntilRefused(_ rim: Rim, _ reason: String) throws {
        try wait(for: "“\(reason)” and not \(String(describing: rim.condition))") {
            if case .failed(let text, _)? = rim.condition { text.contains(reason) } else { false }
        }
    }

    @Test(.enabled(if: isRoot, "only root can make files of others"), arguments: Kind.allCases)
    func oneThatAStrangerHasMadeIsRefusedByNameAndHeals(_ kind: Kind) throws {
        try Folder.with { folder in
            let path = folder["f"]
            try kind.make(path)
            try Linux.chmod(path, 0o666)
            try Linux.chown(path, user: stranger, group: nil)
            try Rim.with(kind.trigger(path)) { rim in
                try waitUntilRefused(rim, "user 12345")
                #expect(try Linux.lstat(path).permissions == 0o666)
                try Linux.unlink(path)
                try rim.waitUntilArmed()
                let status = try Linux.lstat(path)
                #expect((status.userID, status.permissions) == (0, kind.trigger("").mode))
            }
        }
    }

    @Test(.enabled(if: isRoot, "only root can make files of others"), arguments: Kind.allCases)
    func oneThatSocketUserHasMadeIsTakenOver(_ kind: Kind) throws {
        try Folder.with { folder in
            let path = folder["f"]
            try kind.make(path)
            try Linux.chown(path, user: stranger, group: nil)
            var trigger = kind.trigger(path)
            (trigger.user, trigger.group, trigger.mode) = ("12345", "54321", 0o620)
            try Rim.with(trigger) { rim in
                try rim.waitUntilArmed()
                let status = try Linux.lstat(path)
                #expect((status.userID, status.groupID, status.permissions) == (stranger, 54_321, 0o620))
            }
        }
    }

    @Test(arguments: [Kind.fifo, .readyFIFO]) func oneOfOursGetsTheWantedMode(_ kind: Kind) throws {
        try Folder.with { folder in
            try kind.make(folder["f"])
            try Linux.chmod(folder["f"], 0o666)
            var trigger = kind.trigger(folder["f"])
            trigger.mode = 0o640
            try Rim.with(trigger) { rim in
                try rim.waitUntilArmed()
                #expect(try Linux.lstat(folder["f"]).permissions == 0o640)
            }
        }
    }

    @Test(arguments: Kind.allCases) func noLinkIsFollowed(_ kind: Kind) throws {
        try Folder.with { folder in
            try kind.make(folder["target"])
            try Linux.chmod(folder["target"], 0o644)
            try Linux.symlink(folder["f"], to: "target")
            try Rim.with(kind.trigger(folder["f"])) { rim in
                try waitUntilRefused(rim, "a symbolic link")
                #expect(try Linux.lstat(folder["target"]).permissions == 0o644)
                #expect(try Linux.lstat(folder["f"]).kind == .symbolicLink)
            }
        }
    }

    @Test(arguments: [Kind.stream, .datagram]) func anEndRemovesOnlyTheSocketFileThatItMade(_ kind: Kind) throws {
        try Folder.with { folder in
            let path = folder["f"]
            let type: SocketType = kind == .stream ? .stream : .datagram
            let other = try Linux.socket(for: .unix(path.pathBytes), type).release()
            defer { FileDescriptor(owning: other).close() }
            var ended: [Rim] = []
            try Rim.with(kind.trigger(path)) { rim in
                ended.append(rim)
                try rim.waitUntilArmed()
                try Linux.bind(other, .unix(folder["new"].pathBytes))
                if kind == .stream { try Linux.listen(other) }
                try Linux.rename(folder["new"], to: path)
                try waitUntilRefused(rim, "in use")
            }
            for _ in 0..<3 { ended[0].core.queue.sync {} }
            #expect(folder.exists("f"))
            try Linux.unlink(path)

            try Rim.with(kind.trigger(path)) { rim in
                ended.append(rim)
                try rim.waitUntilArmed()
            }
            try wait(for: "the file to go") { !folder.exists("f") }
        }
    }
}
