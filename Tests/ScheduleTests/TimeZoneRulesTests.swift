import LinuxSystem
import ProgramKit
import Schedule
import SeedKit
import Testing

@Suite("Time-zone rules")
struct TimeZoneRulesTests {
    /// Summer and winter in both hemispheres, half an hour, negative daylight-saving time, rules of the past, days that
    /// were lost, offsets with seconds.
    private static let zones = [
        "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Europe/Dublin", "America/Sao_Paulo",
        "Pacific/Apia", "Africa/Casablanca", "Asia/Kolkata", "Antarctica/Troll", "America/St_Johns", "Asia/Gaza",
        "Europe/Istanbul", "Africa/Monrovia", "Pacific/Chatham", "America/Nuuk",
    ]

    /// Rules alone, as in the footer and in TZ.
    private static let posix = [
        "CET-1CEST,M3.5.0,M10.5.0/3", "IST-1GMT0,M10.5.0,M3.5.0/1", "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "AAA3BBB,J60/0,J300", "AAA3BBB,59/0,299/26:30", "XYZ-5:45:30",
        "EET-2EEST,M3.4.4/50,M10.4.4/50",
    ]

    /// What `date` says: the library's own `localtime_r(3)`.
    private func library(_ zone: String, _ instants: [Int]) throws -> [String] {
        let input = instants.map { "@\($0)\n" }.joined()
        let end = try Program.run(
            ["/usr/bin/date", "-f", "-", "+%::z %Z"], environment: ["TZ=\(zone)", "LC_ALL=C"], input: input)
        // Where the abbreviation is “-00”, the zone being unknown, it writes “-00:00:00” too.
        return end.text.split(separator: "\n").map { String($0).replacing("-00:00:00", with: "+00:00:00") }
    }

    private func text(_ type: TimeZoneRules.LocalTimeType) -> String {
        func padded(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
        let seconds = abs(type.offset)
        let parts = [seconds / 3600, seconds / 60 % 60, seconds % 60].map(padded)
        return (type.offset < 0 ? "-" : "+") + parts.joined(separator: ":") + " " + type.abbreviation
    }

    /// From 1970 on, a third of them beyond 2100, and around the changes of half a century.
    private func instants(_ generator: inout SeededGenerator) -> [Int] {
        var result = (0..<300).map { _ in Int.random(in: 0...4_200_000_000, using: &generator) }
        result += (0..<150).map { _ in Int.random(in: 4_102_444_800...30_000_000_000, using: &generator) }
        return result + [0, 1 << 31, (1 << 31) - 1, 4_102_444_799, 253_402_300_799]
    }

    @Test(arguments: zones + posix)
    func everyInstantIsAsTheLibraryHasIt(zone: String) throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let rules = zone.contains("/") && !zone.contains(",") ? try Zones.rules(zone) : try TimeZoneRules(posix: zone)
        var instants = instants(&generator)
        // Where the answers change, to the second.
        for year in stride(from: 2, to: 140, by: 17) {
            var low = year * 31_557_600
            let high = low + 31_557_600
            while low < high {
                let next = low + 3 * 86_400
                if rules.localTime(at: low) != rules.localTime(at: next) {
                    var (before, after) = (low, next)
                    while after - before > 1 {
                        let middle = (before + after) / 2
                        if rules.localTime(at: low) == rules.localTime(at: middle) {
                            before = middle
                        } else {
                            after = middle
                        }
                    }
                    instants += [before, after]
                }
                low = next
            }
        }
        let expected = try library(zone, instants)
        try #require(expected.count == instants.count)
        for (instant, expected) in zip(instants, expected) {
            #expect(text(rules.localTime(at: instant)) == expected, "seed \(seed): \(zone) @\(instant)")
        }
    }

    @Test(arguments: [
        ("Europe/Berlin", "CET", "CEST"), ("Europe/Dublin", "IST", "GMT"), ("Asia/Tokyo", "JST", "JDT"),
        ("America/Sao_Paulo", "-03", "-02"), ("UTC", "UTC", "UTC"), ("Etc/GMT+5", "-05", "-05"),
        ("Europe/Istanbul", "+03", "EEST"),
    ])
    func itsTwoAbbreviationsAreThoseOfTheLibrary(zone: String, standard: String, daylight: String) throws {
        let rules = try Zones.rules(zone)
        #expect(rules.standardAbbreviation == standard)
        #expect(rules.daylightAbbreviation == daylight)
    }

    @Test func summerTimeAllYearIsOneTime() throws {
        let rules = try TimeZoneRules(posix: "XXX3EDT4,0/0,J365/23")
        for year in 0..<80 { #expect(rules.localTime(at: year * 31_557_600).abbreviation == "EDT") }
    }

    @Test(arguments: [
        "", "A", "AB5", "ABC", "ABC25", "ABC5DEF,", "ABC5DEF,M13.1.0,M10.1.0", "ABC5DEF,M3.6.0,M10.1.0",
        "ABC5DEF,J0,J1",
        "ABC5DEF,J1", "ABC5DEF,366,1", "ABC5DEF,M3.1.0/168,M10.1.0", "<ABC5", "ABC5:60", "ABC5DEF4x",
        "ABC5DEF,M3.1.0,M10.1.0,", "Europe/Berlin", String(repeating: "A", count: 600) + "5",
    ])
    func whatIsNoRuleIsRefused(text: String) {
        #expect(throws: TimeZoneError.badRule) { try TimeZoneRules(posix: text) }
    }

    @Test func aDamagedFileIsAnErrorOrAZoneButNeverMore() throws {
        let whole = try Linux.readFile("/usr/share/zoneinfo/Europe/Berlin")
        for length in 0..<whole.count {
            #expect(throws: TimeZoneError.self) { try TimeZoneRules(tzif: Array(whole[..<length])) }
        }
        #expect(throws: TimeZoneError.tooLarge) {
            try TimeZoneRules(tzif: [UInt8](repeating: 0, count: TimeZoneRules.largestFile + 1))
        }
        #expect(throws: TimeZoneError.notTZif) { try TimeZoneRules(tzif: Array("#!/bin/sh".utf8)) }
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            var bytes = whole
            for _ in 0...generator.upTo(3) { bytes[generator.upTo(whole.count - 1)] = UInt8(generator.upTo(255)) }
            guard let rules = try? TimeZoneRules(tzif: bytes) else { continue }
            for instant in [Int.min, -1, 0, 1_795_000_000, 1 << 40, Int.max] {
                #expect(abs(rules.offset(at: instant)) < 26 * 3600, "seed \(seed)")
            }
        }
    }

    /// Version 1, by hand: one change, at 1000 seconds, from UTC to an hour of summer time.
    @Test func theFirstVersionIsReadToo() throws {
        var bytes = Array("TZif".utf8) + [UInt8](repeating: 0, count: 16)
        for count in [0, 0, 0, 1, 2, 8] { bytes += [0, 0, 0, UInt8(count)] }
        bytes += [0, 0, 0x03, 0xE8] + [1]
        bytes += [0, 0, 0, 0, 0, 0] + [0, 0, 0x0E, 0x10, 1, 4]
        bytes += Array("STD\0DST\0".utf8)
        let rules = try TimeZoneRules(tzif: bytes)
        #expect(rules.localTime(at: 999).abbreviation == "STD")
        #expect(rules.offset(at: 1000) == 3600)
        #expect(rules.localTime(at: 1 << 40).isDaylightSaving)
    }

    /// The clock of the system has no leap seconds, whatever the file counts.
    @Test func leapSecondsAreTakenOut() throws {
        guard let bytes = try? Linux.readFile("/usr/share/zoneinfo/right/Europe/Berlin") else { return }
        let (right, usual) = (try TimeZoneRules(tzif: bytes), try Zones.rules("Europe/Berlin"))
        for month in 0..<600 {
            let instant = month * 2_629_800
            #expect(right.offset(at: instant) == usual.offset(at: instant), "\(instant)")
        }
        #expect(right.offset(at: 1_774_746_000) == 7200)
        #expect(right.offset(at: 1_774_745_999) == 3600)
    }
}
