import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

/// `DigestSec=` of `Mail=`, with a sendmail that keeps what it gets.
@Suite("Mail digests, end to end", .ownThread) struct DigestTests {
    private static func text(_ span: String) -> String {
        """
        [Handler]
        Environment=PATH=@/mailer:/usr/bin:/bin
        [Handler backup]
        Exec=/bin/sh -c 'echo disk is odd; exit 3'
        OnFailure=tell
        [Handler sync]
        Exec=/bin/true
        OnSuccess=tell
        [Custom news]
        Handler=tell
        [Queue kept]
        Durable=yes
        [Custom stored]
        Queue=kept
        Log=stored
        [Handler tell]
        Mail=root
        DigestSec=\(span)
        """
    }

    private static func prepare(_ folder: Folder) throws {
        try folder.makeFolder("mailer")
        try folder.write("mailer/sendmail", "#!/bin/sh\ncat >>\"${0%/*}/../mail\"\n", mode: 0o755)
    }

    private func mails(_ folder: Folder) -> [String] {
        folder.text("mail").split(separator: "From: watchd").map(String.init)
    }

    private func report(_ watchd: Watchd, _ names: String...) throws {
        for name in names { _ = try watchd.control("run", name, "--wait") }
    }

    @Test func allOfASpanIsOneMailAlsoOverAStopAndAKill() throws {
        try Lives.run(Self.text("15s"), prepare: Self.prepare) { lives in
            try report(lives.watchd, "backup", "sync")
            try lives.watchd.emit("news", data: 41)
            #expect(try lives.watchd.status().waiting.first?.waitingFor?.hasPrefix("DigestSec=") == true)
            // That is accepted when all before it is stored, too.
            try lives.watchd.emit("stored")
            lives.kill()
            try lives.start()
            try report(lives.watchd, "backup")
            lives.stop()
            #expect(mails(lives.folder).isEmpty)
            try lives.start()
            try report(lives.watchd, "sync")
            try wait(for: "the mail") { !mails(lives.folder).isEmpty }
            try lives.watchd.waitUntilIdle()
            let mail = try #require(mails(lives.folder).first)
            #expect(mails(lives.folder).count == 1)
            #expect(mail.contains("tell: 5 reports, 2 of failures"), "\(mail)")
            #expect(mail.components("backup failed: exit 3") == 2 && mail.components("sync done") == 2, "\(mail)")
            #expect(mail.components("    | disk is odd") == 2 && mail.contains("custom/news"), "\(mail)")
            // By hand it is a mail at once.
            try report(lives.watchd, "tell")
            #expect(mails(lives.folder).count == 2)
        }
    }

    @Test func aFullDiskKeepsNoDigestBack() throws {
        try Lives.run(Self.text("1s"), onSmallDisk: true, prepare: Self.prepare) { lives in
            guard let disk = lives.disk else { return print("SKIPPED: no file system can be mounted") }
            try disk.fill()
            try report(lives.watchd, "backup", "sync")
            try wait(for: "the mail") { !mails(lives.folder).isEmpty }
            #expect(mails(lives.folder).joined().contains("backup failed: exit 3"))
            try disk.free()
            try wait(for: "the store") {
                try lives.watchd.status().problems.allSatisfy { !$0.problem.contains("space") }
            }
            try lives.watchd.waitUntilIdle()
        }
    }
}

extension String {
    /// How often another text is in it.
    fileprivate func components(_ text: String) -> Int {
        split(separator: text, omittingEmptySubsequences: false).count - 1
    }
}
