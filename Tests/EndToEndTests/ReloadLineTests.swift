import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

/// Reloads in the middle of a line.
@Suite("Reloads in a line, end to end", .ownThread) struct ReloadLineTests {
    private static func text(_ more: String = "") -> String {
        """
        [Descriptor pipe]
        ListenFIFO=@/pipe
        \(more.hasPrefix("MaxConnections=") ? "" : more)
        Exec=/bin/cat
        StandardInput=lines
        StandardOutput=append:@/copy
        Queue=main
        [Descriptor socket]
        ListenStream=@/socket-of-lines
        \(more)
        Exec=/bin/cat
        StandardInput=lines
        StandardOutput=append:@/copy
        Queue=main

        """
    }

    /// All that leave it what it is.
    private static let changes = [
        "Include=.", "Exclude=^no$", "MaxLength=1K", "SocketMode=0622", "MaxConnections=7", "Framing=line",
        "Description=other", "RateLimit=100/1s",
    ]

    private func with(_ body: (Watchd, _ writers: [(String, Int32)]) throws -> Void) throws {
        try Watchd.run(Self.text()) { watchd in
            let pipe = try Linux.open(watchd.folder["pipe"], .writing).release()
            let path = watchd.folder["socket-of-lines"].pathBytes
            let socket = try Linux.socket(for: .unix(path), .stream, nonBlocking: false).release()
            try Linux.connect(socket, .unix(path))
            defer { for end in [pipe, socket] { FileDescriptor(owning: end).close() } }
            try body(watchd, [("pipe", pipe), ("socket", socket)])
        }
    }

    private func reload(_ watchd: Watchd, _ text: String) throws {
        try Watchd.write(text, to: watchd.folder)
        let answer = try watchd.control("reload")
        #expect(answer.code == 0, "\(answer)")
    }

    private func copied(_ watchd: Watchd, _ lines: [String]) throws {
        try wait(for: "the lines") { watchd.folder.lines("copy").count >= lines.count }
        #expect(watchd.folder.lines("copy").sorted() == lines.sorted())
    }

    @Test func whoeverWritesALineOverReloadsIsHeard() throws {
        try with { watchd, writers in
            for (name, writer) in writers { try Linux.writeAll(writer, "\(name) first".utf8) }
            for change in Self.changes {
                try reload(watchd, Self.text(change))
                for (_, writer) in writers { try Linux.writeAll(writer, ", \(change)".utf8) }
            }
            for (_, writer) in writers { try Linux.writeAll(writer, "\nnext\n".utf8) }
            let whole = writers.map { "\($0.0) first, " + Self.changes.joined(separator: ", ") }
            try copied(watchd, whole + ["next", "next"])
            for (name, _) in writers { #expect(try watchd.source(name).counters.gap == 0) }
        }
    }

    @Test func whatWasSentToASuspendedSourceIsToldAfterAReload() throws {
        try with { watchd, writers in
            for (name, writer) in writers {
                #expect(try watchd.control("suspend", "descriptor/\(name)").code == 0)
                try Linux.writeAll(writer, "\(name) 1\n\(name) 2\n\(name) ".utf8)
            }
            try reload(watchd, Self.text("Include=."))
            for (name, writer) in writers {
                try Linux.writeAll(writer, "3\n".utf8)
                #expect(try watchd.control("resume", "descriptor/\(name)").code == 0)
            }
            try copied(watchd, writers.flatMap { name, _ in (1...3).map { "\(name) \($0)" } })
        }
    }

    @Test func aStopNamesLinesThatHaveBegun() throws {
        try with { watchd, writers in
            let command = """
                [Descriptor command]
                Command=/bin/sh -c 'printf "command\\nbegun"; exec sleep 1000'
                Exec=/bin/cat
                StandardInput=lines
                StandardOutput=append:@/copy
                Queue=main
                """
            try reload(watchd, Self.text() + command)
            for (name, writer) in writers { try Linux.writeAll(writer, "\(name)\nbegun".utf8) }
            try copied(watchd, writers.map(\.0) + ["command"])
            try watchd.stop()
            let lost = [
                "descriptor/pipe: the beginning of a line is lost (5 bytes)",
                "descriptor/socket: a connection is closed with 5 bytes that nobody has read",
                "descriptor/command: lines that were read are lost (5 bytes)",
            ]
            for sentence in lost { try watchd.waitForLog(sentence) }
        }
    }
}
