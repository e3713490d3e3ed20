import ControlInterface
import Glibc
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// `Progress=yes`: what a run says at its `NOTIFY_SOCKET`.
@Suite("Progress, end to end", .ownThread) struct ProgressTests {
    /// Sends each argument as one message, `\n` and `\xHH` being one byte.
    private static let sender = """
        import os, socket, sys
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        n = os.environ['NOTIFY_SOCKET']
        n = '\\0' + n[1:] if n.startswith('@') else n
        for a in sys.argv[1:]:
            s.sendto(a.encode('latin-1').decode('unicode_escape').encode('latin-1'), n)
        """

    /// Of a handler that runs `script`.
    private static func text(keys: String = "Progress=yes") -> String {
        """
        [Custom poke]
        Exec=/bin/sh @/script
        \(keys)
        """
    }

    /// The script sends these, writes the name of its socket, and ends when the gate is opened.
    private static func prepare(_ messages: String) -> (Folder) throws -> Void {
        { folder in
            try folder.write("send.py", sender)
            let script = "\(messages)\necho $NOTIFY_SOCKET >@/socket-name; read x <@/gate\n"
            try folder.write("script", script.replacing("@/", with: folder.path + "/"))
            for name in ["gate", "gate1", "gate2"] { try Linux.mkfifo(folder[name]) }
        }
    }

    private static func openGate(_ folder: Folder, _ name: String = "gate") throws {
        try Linux.open(folder[name], [.writing]).use { number in try Linux.writeAll(number, "go\n".utf8) }
    }

    private func running(_ watchd: Watchd) throws -> OperationSummary? { try watchd.status().running.first }

    @Test func itIsShownInStatusShowAndFollowWhileItRuns() throws {
        let messages = "systemd-notify --status=\"$(printf '43%% of a\\tb')\"; python3 @/send.py STATUS=44%"
        try Watchd.run(Self.text(), prepare: Self.prepare(messages)) { watchd in
            let follower = try watchd.connect()
            try follower.start(Follow.fullName, Follow.Parameters(), timeout: 30_000)
            try watchd.emit("poke")
            try wait(for: "the newest") { try running(watchd)?.progress == "44%" }
            let id = try #require(try running(watchd)?.id)
            #expect(try watchd.control("status").text.contains("44% custom/poke"))
            #expect(try watchd.control("show", "\(id)").text.contains("44%"))
            var told: [String] = []
            while told.last != "44%" {
                let record: Follow.Reply = try follower.nextReply(timeout: 30_000).parameters()
                if let progress = record.operation?.progress { told.append(progress) }
            }
            #expect(Set(told).isSubset(of: ["43% of a b", "44%"]), "\(told)")
            try Self.openGate(watchd.folder)
            try watchd.waitUntilIdle()
            #expect(try watchd.ended("poke").map(\.result) == [.done])
        }
    }

    @Test func withoutTheKeyThereIsNoSocket() throws {
        try Watchd.run(Self.text(keys: ""), prepare: Self.prepare(":")) { watchd in
            try watchd.emit("poke")
            try wait(for: "the name") { watchd.folder.lines("socket-name") == [""] }
            try Self.openGate(watchd.folder)
            try watchd.waitUntilIdle()
        }
    }

    @Test func whatIsNoTextOrOfSomebodyElseIsPassedOverAndAFloodIsTaken() throws {
        let huge = "$(head -c 60000 /dev/zero | tr '\\0' x)"
        let messages = """
            exec 0<&- 3<&- 1>&- 2>&-; python3 @/send.py "" "\\n\\n" "STATUS=\\xff\\xfe" "STATUS=" "STATUS= \\x01 " \
            "\\x00\\x01\\x02" "READY=1" "ERRNO=5" STATUS "status=1" "STATUS=A\\x1b[2J\\nX=1" \(huge); \
            python3 @/send.py "STATUS=\(huge)"
            """
        try Watchd.run(Self.text(), prepare: Self.prepare(messages)) { watchd in
            try watchd.emit("poke")
            try wait(for: "the long one") { try running(watchd)?.progress?.hasPrefix("xxx") == true }
            #expect(try running(watchd)?.progress?.utf8.count ?? 0 == 200)
            try wait(for: "the name") { watchd.folder.lines("socket-name").first?.hasPrefix("@") == true }
            // This process is of the same user, and no part of the run.
            let name = Array(watchd.folder.lines("socket-name")[0].utf8.dropFirst())
            let socket = try Linux.socket(for: .unnamed, .datagram)
            let number = socket.rawValue
            for _ in 0..<3000 { _ = try? Linux.send(number, Array("STATUS=forged".utf8), to: .abstract(name)) }
            socket.close()
            let before = try running(watchd)?.progress
            #expect(before?.hasPrefix("xxx") == true, "\(before ?? "")")
            #expect(try watchd.status().problems.isEmpty)
            try Self.openGate(watchd.folder)
            try watchd.waitUntilIdle()
        }
    }

    @Test func eachCommandOfARunAndEachRunHasItsOwn() throws {
        let text = """
            [Queue con]
            Type=concurrent
            [Custom poke]
            Key=none
            Queue=con
            Exec=python3 @/send.py STATUS=first%{data}
            Exec=/bin/sh -c 'python3 @/send.py STATUS=second$WATCHD_DATA; read x <@/gate$WATCHD_DATA'
            Progress=yes
            """
        try Watchd.run(text, prepare: Self.prepare("")) { watchd in
            for data in 1...2 { try watchd.emit("poke", data: data) }
            try wait(for: "both") {
                try Set(watchd.status().running.compactMap(\.progress)) == ["second1", "second2"]
            }
            for name in ["gate1", "gate2"] { try Self.openGate(watchd.folder, name) }
            try watchd.waitUntilIdle()
        }
    }
}
