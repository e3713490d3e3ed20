import ControlInterface
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// What is said of how things stand is true, and not less than is known.
@Suite("What is said, end to end", .ownThread) struct WordingTests {
    @Test func whatASuspendedSourceKeepsIsNotSaidToStartAnything() throws {
        try Watchd.run("[Custom poke]\nExec=@/record\n") { watchd in
            try watchd.suspend("custom/poke")
            try watchd.emit("poke", data: 7)
            try wait(for: "its line") { watchd.logText.contains("custom/poke  data 7") }
            try watchd.waitForLog("custom/poke  data 7, kept until custom/poke is resumed")
            #expect(!watchd.logText.contains("data 7 →"))
            try watchd.resume("custom/poke")
            _ = try watchd.waitForRuns(1)
        }
    }

    @Test func anEmitThatWaitsForASuspendedSourceSaysSo() throws {
        try Watchd.run("[Queue small]\nBacklog=1\n[Custom poke]\nExec=@/record\nQueue=small\n") { watchd in
            try watchd.suspend("custom/poke")
            try watchd.emit("poke", payload: .object([:]))
            let said = try Linux.open(watchd.folder["said"], [.writing, .creating, .appending]).release()
            defer { FileDescriptor(owning: said).close() }
            let words = [
                try Products.path("watchctl"), "--socket", watchd.socket, "emit", "poke", "--payload", "{}",
            ]
            let emit = try Program(
                words.map { Array($0.utf8) }, environment: Program.environment, descriptors: [said, said, said])
            let sentence =
                "watchctl: custom/poke is suspended and keeps 1 event, as many as it can (watchctl resume custom/poke); "
                + "waiting until the event is accepted"
            try wait(for: "the sentence") { watchd.folder.text("said").contains(sentence) }
            try watchd.resume("custom/poke")
            #expect(emit.wait(seconds: 90) != nil)
            _ = try watchd.waitForRuns(2)
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
            #expect(try watchd.source("past").neverElapses == true)
            #expect(try watchd.source("after").neverElapses == nil)
            #expect(try watchd.source("later").neverElapses == nil)
            #expect(try watchd.control("status", "timer/past").text.contains("never"))
            #expect(try standing("past") == "armed, but never elapses again")
            #expect(try standing("after").hasPrefix("armed, elapses again AfterSec= after its operations have ended"))
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
            try watchd.waitForLog("Stop: Ctrl-C")
            let hints = watchd.logText.split(separator: "\n").filter { $0.contains("echo hello") }
                .compactMap { $0.split(separator: " ").last.map(String.init) }
            #expect(
                hints == [
                    "/dev/tcp/127.0.0.1/45671", "/dev/udp/::1/45671", "/dev/tcp/10.99.99.99/4567",
                    "/dev/udp/localhost/45671",
                ])
        }
    }

    @Test func theFileThatIsToBeWrittenIsToldOf() throws {
        let text = """
            [Path missing]
            Path=@/missing
            Log=a
            [Path gone]
            Path=@/in
            Events=deleted
            Log=b
            [Path pictures]
            Path=@/in
            Include=**/*.jpg
            Log=c
            [Path all]
            Path=@/in
            Exclude=*.tmp
            Log=d
            """
        try Folder.with { folder in
            try folder.makeFolder("in")
            let watchd = try Watchd(folder, text)
            try watchd.waitForLog("Stop: Ctrl-C")
            let hints = watchd.logText.split(separator: "\n").filter { $0.contains("echo hello") }
                .compactMap { $0.split(separator: "/").last.map(String.init) }
            #expect(hints == ["hello.jpg", "hello"])
            try watchd.stop()
        }
    }

    /// Runs `body` with an `/etc` that nobody else sees, in Tokyo, and a daemon that goes by it. What programs read at
    /// their start is copied into it: all of `/etc` has more than a thousand files.
    private func withOwnEtc(_ more: String = "", _ body: (Watchd, Folder) throws -> Void) throws {
        let copy = """
            mkdir "$0"
            for name in group ld.so.cache machine-id nsswitch.conf passwd; do
                [ ! -e "/etc/$name" ] || cp "/etc/$name" "$0" || exit
            done
            """
        let script = "mount --bind \"$0\" /etc && exec env -u TZ \"$@\""
        try Folder.with { folder in
            let etc = folder["etc"]
            guard try Program.run(["sh", "-c", copy, etc]).code == 0,
                try Program.run(["unshare", "--mount", "sh", "-c", "mount --bind \"$0\" /etc", etc]).code == 0
            else { return print("not tested: no mount of one's own here") }
            try link("localtime", to: "/usr/share/zoneinfo/Asia/Tokyo", folder)
            let launcher = ["unshare", "--mount", "sh", "-c", script, etc]
            try Watchd.run("[Custom poke]\nLog=poked\n\(more)", launcher: launcher) { watchd in
                #expect(try offset(watchd, 1) == 9)
                try body(watchd, folder)
            }
        }
    }

    /// Replaces a link in that `/etc`.
    private func link(_ name: String, to target: String, _ folder: Folder) throws {
        try Linux.symlink(folder["link"], to: target)
        try Linux.rename(folder["link"], to: folder["etc/\(name)"])
    }

    /// Hours east of UTC by a line of the log that is caused for it.
    private func offset(_ watchd: Watchd, _ data: Int) throws -> Int {
        try watchd.emit("poke", data: data)
        try wait(for: "the line") { watchd.logText.contains("custom/poke  data \(data)") }
        let line = try #require(watchd.folder.lines("log").last { $0.contains("custom/poke  data") })
        let clock = try #require(line.firstMatch(of: /(\d\d):(\d\d):\d\d/))
        let minutes = (Int(clock.1) ?? 0) * 60 + (Int(clock.2) ?? 0)
        let here = Int(Linux.now(.realtime) / 60_000_000 % 1440)
        return (minutes - here + 1440 + 30) % 1440 / 60
    }

    @Test(.enabled(if: Linux.effectiveUserID == 0, "needs root for a mount of its own"))
    func aNewTimeZoneIsSaidAndTheLogGoesByIt() throws {
        try withOwnEtc { watchd, folder in
            try link("localtime", to: "/usr/share/zoneinfo/America/Sao_Paulo", folder)
            let sentence = "the time zone has changed: it is America/Sao_Paulo"
            try wait(for: "the notice") { watchd.logText.contains(sentence) }
            #expect(try offset(watchd, 2) == 21)
        }
    }

    @Test(.enabled(if: Linux.effectiveUserID == 0, "needs root for a mount of its own"))
    func theTimeZoneThatASecondLinkLeadsToIsFollowed() throws {
        try withOwnEtc { watchd, folder in
            try folder.makeFolder("etc/writable")
            try link("writable/localtime", to: "/usr/share/zoneinfo/America/Sao_Paulo", folder)
            try link("localtime", to: "writable/localtime", folder)
            try wait(for: "the notice") { watchd.logText.contains("it is America/Sao_Paulo") }
            try link("writable/localtime", to: "/usr/share/zoneinfo/Asia/Dubai", folder)
            try wait(for: "the other notice") { watchd.logText.contains("it is Asia/Dubai") }
            #expect(try offset(watchd, 2) == 4)
        }
    }

    /// While it reads many zones, so that the second change falls between the first one and what that came to.
    @Test(.enabled(if: Linux.effectiveUserID == 0, "needs root for a mount of its own"))
    func theLastOfSeveralChangesOfTheTimeZoneCounts() throws {
        let zones = try Linux.readFolder("/usr/share/zoneinfo/Europe").map { String(decoding: $0.name, as: UTF8.self) }
        let timers = zones.map { "[Timer \($0)]\nOnCalendar=*-01-01 00:00 Europe/\($0)\nLog=new year\n" }
        let noon = "[Timer noon]\nOnCalendar=12:00\nLog=noon\n"
        try withOwnEtc(timers.joined() + noon) { watchd, folder in
            func next() throws -> String { try #require(try watchd.source("timer/noon").nextElapse) }
            #expect(try next().contains("T03:00:00"))
            let half = Array(try Linux.readFile("/usr/share/zoneinfo/Asia/Tokyo").prefix(40))
            for (zone, noon) in [("America/Sao_Paulo", 15), ("Asia/Dubai", 8), ("America/Caracas", 16)] {
                try Linux.unlink(folder["etc/localtime"])
                // Answered when it has seen that.
                _ = try next()
                try link("localtime", to: "/usr/share/zoneinfo/\(zone)", folder)
                let wanted = "T\(noon < 10 ? "0" : "")\(noon):00:00"
                try wait(for: "\(zone), noon is \((try? next()) ?? "")") { try next().contains(wanted) }
                // What is only half there changes nothing.
                try folder.write(Array("new".utf8), half)
                try Linux.rename(folder["new"], to: folder["etc/localtime"])
                #expect(try watchd.control("reload").code == 0)
                #expect(try next().contains(wanted))
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
            try Linux.chown(folder.path, user: 65534, group: 65534)
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
            try watchd.waitForLog("process/m: \(sentence); such processes are counted as lost")
            #expect(!watchd.logText.contains("armed again"))
            #expect(try watchd.control("sources").text.contains(sentence))
            let steps = try watchd.call(Explain.self, .init(name: "process/m")).steps
            #expect(steps.contains { $0.sentence.hasPrefix("armed") && $0.sentence.contains(sentence) })
            try watchd.stop()
        }
    }
}
