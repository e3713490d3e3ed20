import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

/// What is said of how things stand is true, and not less than is known.
@Suite("What is said, end to end") struct WordingTests {
    @Test func whatASuspendedSourceKeepsIsNotSaidToStartAnything() throws {
        try Watchd.run("[Custom poke]\nExec=@/record\n") { watchd in
            try watchd.suspend("custom/poke")
            try watchd.emit("poke", data: 7)
            try wait(for: "its line") { watchd.logText.contains("custom/poke  data 7") }
            #expect(watchd.logText.contains("custom/poke  data 7, kept until custom/poke is resumed"))
            #expect(!watchd.logText.contains("data 7 →"))
            try watchd.resume("custom/poke")
            _ = try watchd.waitForRuns(1)
        }
    }

    @Test func aTimerWithoutAnElapseToComeIsNotOnlyArmed() throws {
        let text = """
            [Timer past]
            OnCalendar=2020-01-01
            Log=past
            [Timer after]
            AfterSec=1ms
            Exec=/bin/sh -c 'echo >@/runs; exec sleep 60'
            [Timer later]
            EverySec=1h
            Log=later
            """
        try Watchd.run(text, settings: "DrainSec=100ms") { watchd in
            try wait(for: "the run") { watchd.folder.exists("runs") }
            func standing(_ name: String) throws -> String {
                let steps = try watchd.call(Explain.self, .init(name: "timer/\(name)")).steps
                return try #require(steps.first { $0.code == "armed" }).sentence
            }
            #expect(try standing("past") == "armed, and no elapse of it is to come")
            #expect(try standing("after").hasPrefix("armed, fires next when its operations have ended"))
            #expect(try standing("later").hasPrefix("armed, fires next in "))
        }
    }

    @Test func whatIsToBeTypedReachesTheAddressThatIsListenedOn() throws {
        let text = """
            [Descriptor old]
            ListenStream=127.0.0.1:0
            Log=a
            [Descriptor new]
            ListenDatagram=[::1]:0
            Log=b
            [Descriptor far]
            ListenStream=10.99.99.99:4567
            Log=c
            [Descriptor every]
            ListenDatagram=0.0.0.0:0
            Log=d
            """.replacing(":0\n", with: ":45671\n")
        try Watchd.run(text) { watchd in
            try wait(for: "the hints") { watchd.logText.contains("Stop: Ctrl-C") }
            let hints = watchd.logText.split(separator: "\n").filter { $0.contains("echo hello") }
                .compactMap { $0.split(separator: " ").last.map(String.init) }
            #expect(
                hints == [
                    "/dev/tcp/127.0.0.1/45671", "/dev/udp/::1/45671", "/dev/tcp/10.99.99.99/4567",
                    "/dev/udp/localhost/45671",
                ])
        }
    }

    /// In a copy of `/etc` that nobody else sees.
    @Test(.enabled(if: Linux.effectiveUserID == 0, "needs root for a mount of its own"))
    func aNewTimeZoneIsSaidAndTheLogGoesByIt() throws {
        let script = "mount --bind \"$0\" /etc && exec env -u TZ \"$@\""
        try Folder.with { folder in
            let etc = folder["etc"]
            guard try Program.run(["cp", "-a", "/etc", etc]).code == 0,
                try Program.run(["unshare", "--mount", "sh", "-c", "mount --bind \"$0\" /etc", etc]).code == 0
            else { return print("not tested: no mount of one's own here") }
            func set(_ zone: String) throws {
                try Linux.symlink(folder["link"], to: "/usr/share/zoneinfo/\(zone)")
                try Linux.rename(folder["link"], to: folder["etc/localtime"])
            }
            try set("Asia/Tokyo")
            let launcher = ["unshare", "--mount", "sh", "-c", script, etc]
            try Watchd.run("[Custom poke]\nLog=poked\n", launcher: launcher) { watchd in
                func offset() throws -> Int {
                    let line = try #require(watchd.folder.lines("log").last { $0.contains("custom/poke  data") })
                    let clock = try #require(line.firstMatch(of: /(\d\d):(\d\d):\d\d/))
                    let minutes = (Int(clock.1) ?? 0) * 60 + (Int(clock.2) ?? 0)
                    let here = Int(Linux.now(.realtime) / 60_000_000 % 1440)
                    return (minutes - here + 1440 + 30) % 1440 / 60
                }
                try watchd.emit("poke", data: 1)
                try wait(for: "the first line") { watchd.logText.contains("data 1") }
                #expect(try offset() == 9)
                try set("America/Sao_Paulo")
                let sentence = "the time zone has changed: it is America/Sao_Paulo"
                try wait(for: "the notice") { watchd.logText.contains(sentence) }
                try watchd.emit("poke", data: 2)
                try wait(for: "the second line") { watchd.logText.contains("data 2") }
                #expect(try offset() == 21)
            }
        }
    }

    /// With the connector, but without the right to look at the processes of others.
    @Test(.enabled(if: Linux.effectiveUserID == 0, "needs root to become somebody else"))
    func whatASourceCannotSeeIsSaidWhereItIsListedAndItHasNotFailed() throws {
        try Folder.with { folder in
            // Where the tree stands may be closed to others.
            try folder.write("watchd".pathBytes, try Linux.readFile(try Products.path("watchd"), limit: 512 << 20))
            try Linux.chmod(folder["watchd"], 0o755)
            try Linux.chmod(folder.path, 0o777)
            let launcher = [
                "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+net_admin",
                "--ambient-caps=+net_admin", "--", "sh", "-c", "exec '\(folder["watchd"])' \"$1\"",
            ]
            let text = "[Process m]\nMatch=/nowhere/program\nEvents=exec\nLog=m\n"
            let watchd = try Watchd(folder, text, launcher: launcher)
            try watchd.waitUntilReady()
            guard try watchd.source("process/m").state == .armed else {
                print("not tested: no process connector here")
                return try watchd.stop()
            }
            let sentence = "the executables of other users cannot be read, which needs root (CAP_SYS_PTRACE)"
            try wait(for: "the reason") {
                #expect(try Program.run(["sleep", "0.2"]).code == 0)
                return try watchd.source("process/m").reason?.hasPrefix(sentence) ?? false
            }
            #expect(try watchd.source("process/m").state == .armed)
            #expect(watchd.logText.contains("process/m: \(sentence); such processes are counted as lost"))
            #expect(!watchd.logText.contains("armed again"))
            #expect(try watchd.control("sources").text.contains(sentence))
            let steps = try watchd.call(Explain.self, .init(name: "process/m")).steps
            #expect(steps.contains { $0.sentence.hasPrefix("armed") && $0.sentence.contains(sentence) })
            try watchd.stop()
        }
    }
}
