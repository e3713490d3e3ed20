import Testing

@testable import WatchFile

@Suite("Table of keys")
struct KeyTableTests {
    /// A section that is whole but for the key in question.
    static func section(_ kind: SectionKind, without key: String) -> String {
        var lines = ["[\(kind.rawValue)\(kind == .watchd ? "" : " x")]"]
        switch kind {
        case .timer: lines.append("EverySec=1h")
        case .signal: lines.append("Signal=USR1")
        case .path: if !Checker.systemdPathKeys.contains(key) { lines.append("Path=/p") }
        case .descriptor: lines += descriptor(key)
        case .process: lines.append(contentsOf: process(key))
        case .semaphore: if key != "Members" { lines.append("Value=5") }
        case .group: lines.append("Members=member")
        case .unit: lines.append("Unit=a.service")
        case .watchd, .queue, .handler, .custom: break
        }
        if key == "MaxSettleSec" { lines.append("SettleSec=1s") }
        if key == "DirectoryMode" { lines.append("MakeDirectory=yes") }
        if key == "Join" { lines.append("Path=/q") }
        if key == "Width" { lines.append("Type=concurrent") }
        if key == "CPUSchedulingPriority" { lines.append("CPUSchedulingPolicy=fifo") }
        if key == "SilenceSec" { lines.append("OnSilence=other") }
        if ["OnSilence", "OnSound"].contains(key) { lines.append("SilenceSec=1h") }
        if key == "BatchSize" { lines += ["DelaySec=1s"] + (kind == .descriptor ? ["Coalesce=yes", "Key="] : []) }
        if key == "OnLate" { lines.append("LateSec=1h") }
        if key == "OnSlow" { lines.append("SlowSec=1h") }
        let hasAction = kind == .handler || kind.sourceKind != nil
        let isOfWorkers = workerKeys.contains(key) && (kind == .handler || KeyTable.isHandlerKey(key, in: kind))
        if key == "DigestSec" {
            lines.append("Mail=root")
        } else if ["UnitAction", "UnitWait"].contains(key) {
            lines.append("Unit=a")
        } else if ["ProcessAction", "ProcessSignal"].contains(key) {
            lines += ["Process=server", key == "ProcessSignal" ? "ProcessAction=reload" : ""].filter { !$0.isEmpty }
        } else if hasAction,
            !["Emit", "Log", "Mail", "Process", "Stream", "Unit"].contains(key) || kind == .unit && key == "Unit"
        {
            lines.append(isOfWorkers ? "Stream=/bin/true" : "Exec=/bin/true")
        }
        if ["Prune", "IgnoreFile"].contains(key) { lines.append("Recursive=yes") }
        return lines.filter { !$0.hasPrefix("\(key)=") }.joined(separator: "\n") + "\n"
    }

    private static let workerKeys = ["Workers", "Ack", "Prefetch", "IdleSec", "RestartSec", "RestartMaxDelaySec"]

    /// What the key may stand beside.
    private static func descriptor(_ key: String) -> [String] {
        switch key {
        case "Ready": ["ListenFIFO=/f", "Framing=ready"]
        case "StandardInput", "StandardOutput": ["ListenFIFO=/f"]
        case "Accept", "MaxConnections": ["ListenStream=/s"]
        case "Include", "Exclude", "Framing", "MaxLength", "SocketMode", "SocketUser", "SocketGroup":
            ["ListenFIFO=/f"]
        default: KeyTable.names(in: .descriptor).prefix(11).contains(key) ? [] : ["ListenFIFO=/f"]
        }
    }

    /// What the key may stand beside.
    private static func process(_ key: String) -> [String] {
        switch key {
        case "Command", "Match": []
        case "Workers", "Restart", "RestartSec", "RestartMaxDelaySec", "ReadyLine", "ReadyPath", "NotifyReady":
            ["Command=/bin/true"]
        default: ["PIDFile=/p"]
        }
    }

    private func sample(_ key: Key) -> String {
        if key.name == "ListenSequentialPacket" { return "@name" }
        return switch key.type {
        case .globs: "*.x **/y/*"
        case .fileName: ".gitignore"
        case .credentials: "db tls.key"
        case .holdConditions: "ac-power pressure:cpu:some:20% idle:10min path:/a unit:a"
        case .pathPattern: "/a/*/[b]?"
        case .flag: "no"
        case .number(let range): "\(range.upperBound)"
        case .numberOrInfinity: "infinity"
        case .signed(let range): "\(range.lowerBound)"
        case .resourceLimit: "5:infinity"
        case .size, .sizeOrInfinity: "64K"
        case .percent: "150%"
        case .watches: "50%"
        case .span: "90s"
        case .choice(let words, _), .choices(let words, _): words.first ?? ""
        case .names:
            switch key.name {
            case "Queue", "Target": "main"
            case "Members": "member"
            case "Process": "server"
            default: "other"
            }
        case .predecessors: "other process/server"
        case .members: "0 /dev/ttyUSB0 b:1"
        case .counts: "units:2 units"
        case .rate: "100/1s"
        case .signal, .claimedSignals: "SIGUSR2"
        case .exitStatuses: "3 TERM"
        case .processEvents: "exit"
        case .text, .template, .key: "some text"
        case .path, .paths, .pathCondition, .folder: "/a"
        case .environmentFile: "-/a"
        case .variableNames: "HOME LANG_X"
        case .account: "www-data"
        case .accounts: "adm 4711"
        case .units: "a.service"
        case .output: "null"
        case .environment: "A=b"
        case .command: "/bin/true"
        case .emission: "target"
        case .unitTemplates: "a.service b@%{count}"
        case .mailAddresses: "root ops@example.org"
        case .address: "514"
        case .netlink: "route 1361"
        case .pressure: "memory some 150ms 2s"
        case .pattern: "^(a|b)[0-9]{1,3}$"
        case .submitters: "group:4711"
        case .mode: "0640"
        case .calendar: "Mon..Fri 02:30"
        case .cron: "30 2 * * 1-5"
        case .window: "Sun 04:00 for 1h"
        case .unitProperty: "yes"
        }
    }

    private static let others = [
        "other": "[Handler other]\nLog=x\n", "member": "[Handler member]\nLog=x\n",
        "target": "[Custom target]\nLog=x\n",
        "units": "[Semaphore units]\nValue=3\n", "server": "[Process server]\nCommand=/bin/true\n",
    ]

    /// The sections that this one names.
    static func others(of section: String) -> String {
        "\n" + others.filter { section.contains($0.key) }.values.joined()
    }

    private static func whole(_ section: String) -> String { section + others(of: section) }

    @Test(arguments: SectionKind.allCases)
    func everySupportedKeyIsTakenAndEveryOtherRefusedByName(kind: SectionKind) {
        for key in KeyTable.keys(of: kind) {
            let text = Self.whole(Self.section(kind, without: key.name) + "\(key.name)=\(sample(key))")
            let found = problems(in: text).map { $0.drop { $0 != " " }.dropFirst().prefix { $0 != ":" } }
            #expect(found == (key.isSupported ? [] : ["\(key.name)= is not supported by this version"]), "\(text)")
        }
    }

    @Test(arguments: SectionKind.allCases)
    func everySupportedKeyRefusesWhatItCannotRead(kind: SectionKind) {
        for key in KeyTable.keys(of: kind) where key.isSupported {
            // No text of any kind has a control character, and no path, command or address looks like this.
            let text = Self.whole(Self.section(kind, without: key.name) + "\(key.name)=\\q\u{1}'")
            #expect(load(text).configuration == nil, "\(text)")
        }
    }

    @Test(arguments: SectionKind.allCases)
    func everyKeyIsCorrectedWhenItsCaseIsWrong(kind: SectionKind) {
        for key in KeyTable.keys(of: kind) {
            let text = Self.whole(Self.section(kind, without: key.name) + "\(key.name.uppercased())x=1")
            let suggestions = load(text).diagnostics.map(\.suggestion)
            #expect(suggestions.contains("\(key.name)=") || key.name.utf8.count < 4, "\(key.name)")
        }
    }

    @Test(arguments: SectionKind.allCases)
    func aKeyIsFoundByNameWhereTheSectionHasIt(kind: SectionKind) {
        let keys = KeyTable.keys(of: kind)
        let own = Dictionary(keys.map { ($0.name, "\($0)") }, uniquingKeysWith: { first, _ in first })
        for name in Set(SectionKind.allCases.flatMap { KeyTable.names(in: $0) }) {
            #expect(KeyTable.key(name, in: kind).map { "\($0)" } == own[name], "\(name)")
        }
        #expect(KeyTable.key("Nothing", in: kind) == nil)
    }

    @Test func noSectionHasTwoKeysOfOneName() {
        for kind in SectionKind.allCases {
            #expect(Set(KeyTable.names(in: kind)).count == KeyTable.names(in: kind).count)
        }
    }
}
