import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

@Suite("QoS of waiters and priorities, end to end", .ownThread) struct UrgencyTests {
    @Test func whatSomebodyWaitsForRunsWithTheQoSOfTheWaiter() throws {
        let text = """
            [Queue batch]
            Type=concurrent
            QoS=background
            [Handler h]
            Queue=batch
            Exec=/usr/bin/nice
            """
        try Watchd.run(text) { watchd in
            let own = try Program.run(["/usr/bin/nice"]).text.trimmed
            let alone = try watchd.control("run", "h")
            #expect(alone.code == 0)
            try watchd.waitForEnded(1, of: "h")
            let first = try watchd.operation(#require(try watchd.ended("h").first).id)
            #expect(first.output?.trimmed == "\((Int(own) ?? 0) + 10)")
            #expect(try watchd.control("run", "h", "--wait").text.trimmed == own)
            #expect(try watchd.control("run", "--queue", "batch", "--wait", "--", "nice").text.trimmed == own)
        }
    }

    @Test func aPriorityByHandIsKeptOverAKill() throws {
        let text = """
            [Queue q]
            Type=concurrent
            Width=1
            Durable=yes
            [Custom poke]
            Key=none
            Queue=q
            Exec=/bin/sh -c 'echo $WATCHD_DATA >>@/ran'
            """
        try Lives.run(text) { lives in
            try lives.watchd.suspend("queue/q")
            for data in 1...3 { try lives.watchd.emit("poke", data: data) }
            let last = try #require(try lives.watchd.status().waiting.map(\.id).max())
            #expect(try lives.watchd.control("priority", "\(last)", "very-high").code == 0)
            lives.kill()
            try lives.start()
            try lives.watchd.resume("queue/q")
            try wait(for: "all of them") { lives.folder.lines("ran").count == 3 }
            #expect(lives.folder.lines("ran") == ["3", "1", "2"])
        }
    }

    @Test func aProcessStartsWhenTheOneBeforeItIsReady() throws {
        let text = """
            [Process web]
            Command=/bin/sh -c 'echo web >>@/started; exec sleep 1000'
            After=process/db
            [Process db]
            Command=/bin/sh -c 'echo db >>@/started; read x <@/gate; systemd-notify --ready; exec sleep 1000'
            NotifyReady=yes
            """
        try Watchd.run(text, prepare: { try Linux.mkfifo($0["gate"]) }) { watchd in
            try wait(for: "db") { watchd.folder.lines("started") == ["db"] }
            let sources = try watchd.control("explain", "process/web").text
            #expect(sources.contains("down") || sources.contains("db"), "\(sources)")
            try wait(for: "web to wait") {
                try watchd.control("sources").text.contains("After=process/db")
                    || (try watchd.call(ListSources.self, .init(name: "web"))).sources.first.debugDescription
                        .contains("After=process/db")
            }
            #expect(watchd.folder.lines("started") == ["db"])
            try Linux.open(watchd.folder["gate"], [.writing]).use { number in try Linux.writeAll(number, "x\n".utf8) }
            try wait(for: "web") { watchd.folder.lines("started") == ["db", "web"] }
        }
    }
}

extension String {
    fileprivate var trimmed: String { String(drop { $0 == " " }.prefix { $0 != "\n" }) }
}
