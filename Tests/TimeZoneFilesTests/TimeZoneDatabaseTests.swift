import LinuxSystem
import ProgramKit
import Schedule
import Testing
import TimeZoneFiles

@Suite("Time-zone files")
struct TimeZoneDatabaseTests {
    private func database(_ environment: [String: String], localFile: String = "/nonexistent") -> TimeZoneDatabase {
        TimeZoneDatabase(environment: { environment[$0].map { Array($0.utf8) } }, localFile: Array(localFile.utf8))
    }

    /// 2026-07-01 12:00:00 UTC.
    private static let july = 1_782_907_200

    /// What `date -d @1782907200 +%Z%z` says with the same `TZ`.
    @Test(arguments: [
        ("Europe/Berlin", "CEST", 7200), (":Europe/Berlin", "CEST", 7200),
        ("/usr/share/zoneinfo/Asia/Tokyo", "JST", 32400),
        (":/usr/share/zoneinfo/Asia/Tokyo", "JST", 32400), ("CET-1CEST,M3.5.0,M10.5.0/3", "CEST", 7200),
        ("<-03>3", "-03", -10800), ("EST5EDT", "EDT", -14400), ("XYZ4", "XYZ", -14400), ("UTC", "UTC", 0),
        ("", "UTC", 0),
        (":", "UTC", 0),
    ])
    func theVariableIsUnderstoodAsByTheLibrary(variable: String, abbreviation: String, offset: Int) {
        let type = database(["TZ": variable]).local().localTime(at: Self.july)
        #expect(type.abbreviation == abbreviation)
        #expect(type.offset == offset)
    }

    @Test(arguments: [
        "Europe/Nowhere", "../../etc/passwd", "Europe/../Europe/Berlin", "/etc/passwd", "/dev", "?", "CET-",
    ])
    func whatIsNothingIsUTC(variable: String) {
        #expect(database(["TZ": variable]).local().localTime(at: Self.july).offset == 0)
    }

    @Test func whyItIsUTCIsTold() throws {
        #expect(database(["TZ": "Nowhere/Land"]).localProblem?.hasPrefix("TZ=Nowhere/Land: cannot be read: ") == true)
        #expect(database(["TZ": "?"]).localProblem == "TZ=?: not the name of a time zone")
        for zone in ["", ":", "UTC", "Europe/Berlin", "XYZ4"] { #expect(database(["TZ": zone]).localProblem == nil) }
        #expect(database([:]).localProblem == nil)
        try Folder.with { folder in
            let local = folder["localtime"]
            try folder.write("localtime", "garbage")
            #expect(database([:], localFile: local).localProblem?.hasPrefix("\(local): ") == true)
            #expect(database(["TZ": "UTC"], localFile: local).localProblem == nil)
        }
    }

    @Test func withoutTheVariableItIsTheFileOfTheMachine() throws {
        try Folder.with { folder in
            let link = folder["localtime"]
            let database = database([:], localFile: link)
            #expect(database.local() == .utc)
            try Linux.symlink(link, to: "/usr/share/zoneinfo/Europe/Berlin")
            #expect(database.local().localTime(at: Self.july).abbreviation == "CEST")
            try Linux.unlink(link)
            try Linux.symlink(link, to: "/usr/share/zoneinfo/Asia/Tokyo")
            #expect(database.local().localTime(at: Self.july).abbreviation == "JST")
        }
    }

    @Test func itIsCalledByTheFirstLinkIntoTheDatabase() throws {
        try Folder.with { folder in
            let link = folder["localtime"]
            let database = database([:], localFile: link)
            #expect(database.localName == nil)
            try folder.makeFolder("writable")
            try Linux.symlink(link, to: "writable/one")
            try Linux.symlink(folder["writable/one"], to: "../two")
            #expect(database.localName == "../two", "it leads nowhere")
            try Linux.symlink(folder["two"], to: "/usr/share/zoneinfo/Europe/Berlin")
            #expect(database.localName == "Europe/Berlin")
            try Linux.unlink(folder["two"])
            try Linux.symlink(folder["two"], to: "two")
            #expect(database.localName == "two", "a circle")
        }
    }

    @Test func whatCannotBeReadStaysAsItWasAndWhatIsAbsentIsUTC() throws {
        try Folder.with { folder in
            let link = folder["localtime"]
            let database = database([:], localFile: link)
            let old = try TimeZoneRules(posix: "CET-1")
            #expect(database.local(else: old) == .utc, "there is none")
            let berlin = try Linux.readFile("/usr/share/zoneinfo/Europe/Berlin")
            for count in [0, 30, berlin.count / 2] {
                try folder.write(Array("localtime".utf8), Array(berlin.prefix(count)))
                #expect(database.local(else: old) == old, "\(count) bytes of it are there")
            }
            try folder.write(Array("localtime".utf8), berlin)
            #expect(database.local(else: old).localTime(at: Self.july).abbreviation == "CEST")
            try Linux.unlink(link)
            try Linux.mkdir(link)
            #expect(database.local(else: old) == old, "something stands in its place")
            try Linux.rmdir(link)
            try Linux.symlink(link, to: folder["nowhere"])
            #expect(database.local(else: old) == .utc, "the link leads nowhere")
            for variable in ["Europe/Nowhere", "../x", ":?"] {
                let database = self.database(["TZ": variable, "TZDIR": folder.path])
                #expect(database.local(else: old) == .utc, "\(variable)")
            }
            try folder.write("Half", "TZif2")
            #expect(self.database(["TZ": "Half", "TZDIR": folder.path]).local(else: old) == old)
            #expect(self.database(["TZ": folder["Half"]]).local(else: old) == old)
        }
    }

    @Test func theFolderOfTheZonesCanBeElsewhere() throws {
        try Folder.with { folder in
            try Linux.symlink(folder["Home"], to: "/usr/share/zoneinfo/Europe/Berlin")
            let database = database(["TZDIR": folder.path])
            #expect(try database.rules(named: "Home").offset(at: Self.july) == 7200)
            #expect(throws: TimeZoneFileError.self) { try database.rules(named: "Europe/Berlin") }
            #expect(self.database(["TZDIR": folder.path, "TZ": "Home"]).local().offset(at: Self.july) == 7200)
        }
    }

    @Test(arguments: [
        "", "/", "/Europe/Berlin", "Europe/", "Europe//Berlin", "../zoneinfo/UTC", "Europe/..", ".",
        "Europe/Berl\u{e9}n",
        "Europe/Berlin\u{0}", " UTC", String(repeating: "a", count: 256),
    ])
    func aNameDoesNotLeaveTheFolder(name: String) {
        #expect(throws: TimeZoneFileError.notAName) { try database([:]).rules(named: name) }
    }

    @Test func whatIsNoZoneIsAnError() throws {
        let zones = database([:])
        #expect(throws: TimeZoneFileError.damaged(.notTZif)) { try zones.rules(named: "Europe") }
        #expect(throws: TimeZoneFileError.self) { try zones.rules(named: "Nowhere") }
        try Folder.with { folder in
            let zones = database(["TZDIR": folder.path])
            try folder.write(Array("Short".utf8), Array("TZif2".utf8))
            try folder.write(Array("Long".utf8), [UInt8](repeating: 0, count: TimeZoneRules.largestFile + 1))
            #expect(throws: TimeZoneFileError.damaged(.truncated)) { try zones.rules(named: "Short") }
            #expect(throws: TimeZoneFileError.self) { try zones.rules(named: "Long") }
        }
    }

    @Test func everyZoneOfTheMachineCanBeRead() throws {
        let zones = database([:])
        let names = try Linux.readFolder("/usr/share/zoneinfo/Europe").map { String(decoding: $0.name, as: UTF8.self) }
        #expect(names.count > 40)
        for name in names { _ = try zones.rules(named: "Europe/\(name)") }
        let known = zones.names(local: .utc)
        #expect(known.isKnown("Europe/Berlin"))
        #expect(!known.isKnown("europe/berlin"))
    }
}
