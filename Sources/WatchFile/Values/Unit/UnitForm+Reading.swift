import Schedule

extension UnitForm {
    /// The property of the key, as the manager's bus takes it; `nil`: the text is not of this form.
    ///
    /// - Parameter words: of the text, without quotes and escapes.
    func read(_ name: String, _ text: String, _ words: [String]) -> UnitProperty? {
        typealias Value = UnitProperty.Value
        switch self {
        case .bytes: return Self.bytes(name, text)
        case .flagOrWord(let others) where others.contains(text): return UnitProperty(name + "Ex", .text(text))
        case .folders: return Self.folders(name, words)
        case .rootHash, .rootSignature: return verity(name, text)
        case .deviceLatency: return Self.latency(words).map { UnitProperty("IODeviceLatencyTargetUSec", $0) }
        case .span(let property):
            guard let span = try? TimeSpan(parsing: text) else { return nil }
            return UnitProperty(property, .large(span.microseconds))
        case .delegation:
            if let flag = Self.flag(text) { return UnitProperty(name, .flag(flag)) }
            return UnitProperty("DelegateControllers", .texts(words))
        case .processors where name == "CPUAffinity" && text == "numa":
            return UnitProperty("CPUAffinityFromNUMA", .flag(true))
        default: return value(text, words).map { UnitProperty(name, $0) }
        }
    }

    private func value(_ text: String, _ words: [String]) -> UnitProperty.Value? {
        switch self {
        case .flag, .flagOrWord: Self.flag(text).map { .flag($0) }
        case .text: .text(text)
        case .word(let choices):
            choices.contains(text) || choices.contains("yes") && Self.flag(text) != nil ? .text(text) : nil
        case .texts: .texts(words)
        case .filter: Self.filter(words)
        case .families: Self.families(words)
        case .mode: UInt32(text, radix: 8).flatMap { $0 <= 0o777 ? .number($0) : nil }
        case .weight: Self.weight(text).map { .large($0) }
        case .processors: Self.set(words).map { .bytes($0) }
        case .addresses: Self.addresses(words)
        case .capabilities: Self.capabilities(words).map { .large($0) }
        case .binds: Self.each(words, "(ssbt)", Self.bind)
        case .profile:
            text.hasPrefix("-")
                ? .structure([.flag(true), .text(String(text.dropFirst()))]) : .structure([.flag(false), .text(text)])
        case .level: Self.levels.firstIndex(of: text).map { .integer(Int32($0)) }
        case .choice(let choices): choices[text].map { .integer($0) }
        case .nanoseconds: Self.nanoseconds(text).map { .large($0) }
        case .count: UInt32(text).map { .number($0) }
        case .share: Self.share(text).map { .number($0) }
        case .namespaces: Self.namespaces(words).map { .large($0) }
        case .propagation: ["shared": 1 << 20, "slave": 1 << 19, "private": 1 << 18][text].map { .large($0) }
        case .temporaryFolders: Self.each(words, "(ss)") { Self.pair($0, ":", isOptional: true) }
        case .imageOptions: Self.each(words, "(ss)", Self.options)
        case .mountedImages: Self.each(words, "(ssba(ss))") { Self.image($0, hasTarget: true) }
        case .images: Self.each(words, "(sba(ss))") { Self.image($0, hasTarget: false) }
        case .credential: Self.credential(text)
        case .credentialText: Self.credentialText(text)
        case .credentialSecret: Self.credentialSecret(text)
        case .sockets: Self.each(words, "(iiqq)", Self.socket)
        case .program: Self.pair(text, ":").map { .array("(ss)", [$0]) }
        case .sets: Self.each(words, "(iiss)", Self.netfilterSet)
        case .linePattern: Self.linePattern(text)
        case .field: text.contains("=") ? .array("ay", [.bytes(Array(text.utf8))]) : nil
        case .ioLimit, .devices, .deviceWeight: ofDevice(words)
        case .secureBits: Self.sum(words, Self.securityBits).map { .integer($0) }
        case .errorNumber:
            (Self.errors[text] ?? Int32(text).flatMap { (1...4095).contains($0) ? $0 : nil }).map { .integer($0) }
        case .dumpFilter: Self.dumpFilter(text, words).map { .large($0) }
        case .bytes, .span, .delegation, .folders, .rootHash, .rootSignature, .deviceLatency: nil
        }
    }

    private static func latency(_ words: [String]) -> UnitProperty.Value? {
        guard words.count >= 2, let span = try? TimeSpan(parsing: words[1...].joined(separator: " ")),
            span != .infinity
        else { return nil }
        return .array("(st)", [.structure([.text(words[0]), .large(span.microseconds)])])
    }

    private func ofDevice(_ words: [String]) -> UnitProperty.Value? {
        guard let device = words.first, words.count <= 2 else { return nil }
        switch self {
        case .devices:
            let rights = words.count == 2 ? words[1] : "rwm"
            guard rights.allSatisfy({ "rwm".contains($0) }) else { return nil }
            return .array("(ss)", [.structure([.text(device), .text(rights)])])
        case .deviceWeight:
            guard words.count == 2, let weight = Self.weight(words[1]) else { return nil }
            return .array("(st)", [.structure([.text(device), .large(weight)])])
        default:
            guard words.count == 2, let limit = Self.size(words[1], base: 1000) else { return nil }
            return .array("(st)", [.structure([.text(device), .large(limit)])])
        }
    }

    // MARK: Numbers

    private static func flag(_ text: String) -> Bool? {
        switch text {
        case "yes", "true", "on", "1": true
        case "no", "false", "off", "0": false
        default: nil
        }
    }

    private static func weight(_ text: String) -> UInt64? {
        UInt64(text).flatMap { (1...10_000).contains($0) ? $0 : nil }
    }

    /// `infinity` is the largest number.
    private static func size(_ text: String, base: UInt64) -> UInt64? {
        if text == "infinity" { return .max }
        let power = text.last.flatMap { Array("KMGTPE").firstIndex(of: $0) }.map { $0 + 1 } ?? 0
        guard let number = UInt64(power > 0 ? String(text.dropLast()) : text) else { return nil }
        var result = number
        for _ in 0..<power {
            let (product, overflow) = result.multipliedReportingOverflow(by: base)
            if overflow { return nil }
            result = product
        }
        return result
    }

    private static func bytes(_ name: String, _ text: String) -> UnitProperty? {
        if let share = share(text) { return UnitProperty(name + "Scale", .number(share)) }
        return size(text, base: 1024).map { UnitProperty(name, .large($0)) }
    }

    /// A share of 2³² - 1, as the manager counts them (`UINT32_SCALE_FROM_PERMYRIAD`).
    private static func share(_ text: String) -> UInt32? {
        guard text.hasSuffix("%") else { return nil }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let whole = UInt64(parts[0]), whole <= 100 else { return nil }
        let decimals = parts.count == 2 ? parts[1] : "00"
        guard (1...2).contains(decimals.count), let fraction = UInt64(decimals.count == 1 ? decimals + "0" : decimals)
        else { return nil }
        let hundredths = whole * 100 + fraction
        guard hundredths <= 10_000 else { return nil }
        return UInt32((hundredths * UInt64(UInt32.max) + 5000) / 10_000)
    }

    /// Without a unit it is nanoseconds, as in `systemd.exec(5)`.
    private static func nanoseconds(_ text: String) -> UInt64? {
        if let number = UInt64(text) { return number }
        if text.hasSuffix("ns") { return UInt64(text.dropLast(2)) }
        guard let span = try? TimeSpan(parsing: text), span != .infinity else { return nil }
        let (product, overflow) = span.microseconds.multipliedReportingOverflow(by: 1000)
        return overflow ? nil : product
    }

    /// One bit for each number, the lowest first in each byte.
    private static func set(_ words: [String]) -> [UInt8]? {
        var bytes: [UInt8] = []
        for word in words.flatMap({ $0.split(separator: ",") }) {
            let ends = word.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            guard (1...2).contains(ends.count), let first = ends[0], let last = ends.last ?? nil, first >= 0,
                first <= last, last < 8192
            else { return nil }
            for number in first...last {
                while bytes.count <= number / 8 { bytes.append(0) }
                bytes[number / 8] |= 1 << UInt8(number % 8)
            }
        }
        return bytes
    }

    private static func dumpFilter(_ text: String, _ words: [String]) -> UInt64? {
        let bits = Dictionary(uniqueKeysWithValues: memoryKinds.enumerated().map { ($1, UInt64(1) << UInt64($0)) })
        switch text {
        case "all": return sum(memoryKinds, bits)
        case "default": return sum(["private-anonymous", "shared-anonymous", "elf-headers", "private-huge"], bits)
        default: break
        }
        if let sum = sum(words, bits) { return sum }
        return UInt64(text.hasPrefix("0x") ? String(text.dropFirst(2)) : text, radix: 16)
    }

    // MARK: Names

    /// Behind a `~` the names are those that do not count.
    private static func inverted(_ words: [String]) -> (isInverted: Bool, words: [String]) {
        guard let first = words.first, first.hasPrefix("~") else { return (false, words) }
        return (true, ([String(first.dropFirst())] + words.dropFirst()).filter { !$0.isEmpty })
    }

    private static func filter(_ words: [String]) -> UnitProperty.Value {
        let (isInverted, names) = inverted(words)
        return .structure([.flag(!isInverted), .texts(names)])
    }

    private static func families(_ words: [String]) -> UnitProperty.Value? {
        let isKnown = inverted(words).words.allSatisfy { word in
            word.hasPrefix("AF_") && (addressFamilies + ["LOCAL", "FILE", "ROUTE"]).contains(String(word.dropFirst(3)))
        }
        return isKnown ? filter(words) : nil
    }

    private static func sum<Number: FixedWidthInteger>(_ words: [String], _ bits: [String: Number]) -> Number? {
        words.reduce(0) { sum, word in
            guard let sum, let bit = bits[word] else { return nil }
            return sum | bit
        }
    }

    /// Those that may be made.
    private static func namespaces(_ words: [String]) -> UInt64? {
        let all = namespaceBits.values.reduce(0, |)
        if words.count == 1, let flag = flag(words[0]) { return flag ? 0 : all }
        let (isInverted, names) = inverted(words)
        return sum(names, namespaceBits).map { isInverted ? all ^ $0 : $0 }
    }

    private static func capabilities(_ words: [String]) -> UInt64? {
        let (isInverted, names) = inverted(words)
        var sum: UInt64 = 0
        for name in names.map({ $0.lowercased() }) {
            guard name.hasPrefix("cap_"), let bit = capabilityNames.firstIndex(of: String(name.dropFirst(4))) else {
                return nil
            }
            sum |= 1 << UInt64(bit)
        }
        return isInverted ? ~sum : sum
    }

    // MARK: Structures

    static func each(
        _ words: [String], _ signature: String, _ read: (String) -> UnitProperty.Value?
    ) -> UnitProperty.Value? {
        let values = words.compactMap(read)
        return values.count == words.count ? .array(signature, values) : nil
    }

    static func pair(
        _ text: String, _ separator: Character, isOptional: Bool = false
    ) -> UnitProperty.Value? {
        let parts = text.split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let first = parts.first, !first.isEmpty, parts.count == 2 || isOptional else { return nil }
        return .structure([.text(first), .text(parts.count == 2 ? parts[1] : "")])
    }

    /// Mounts below a folder come along (`MS_REC`), unless `norbind` is said.
    private static func bind(_ word: String) -> UnitProperty.Value? {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard (1...3).contains(parts.count) else { return nil }
        let isOptional = parts[0].hasPrefix("-")
        let source = isOptional ? String(parts[0].dropFirst()) : parts[0]
        let target = parts.count > 1 ? parts[1] : source
        let option = parts.count == 3 ? parts[2] : "rbind"
        guard source.hasPrefix("/"), target.hasPrefix("/"), ["rbind", "norbind"].contains(option) else { return nil }
        return .structure([.text(source), .text(target), .flag(isOptional), .large(option == "rbind" ? 0x4000 : 0)])
    }

    // MARK: Addresses

    private static func addresses(_ words: [String]) -> UnitProperty.Value? {
        var values: [UnitProperty.Value] = []
        for word in words {
            guard let found = addresses(word) else { return nil }
            for (address, prefix) in found {
                // AF_INET and AF_INET6.
                let family: Int32 = address.count == 4 ? 2 : 10
                values.append(.structure([.integer(family), .bytes(address), .number(prefix)]))
            }
        }
        return .array("(iayu)", values)
    }

    private static func addresses(_ word: String) -> [(address: [UInt8], prefix: UInt32)]? {
        let zeros: [UInt8] = Array(repeating: 0, count: 14)
        switch word {
        case "any": return [([0, 0, 0, 0], 0), (zeros + [0, 0], 0)]
        case "localhost": return [([127, 0, 0, 0], 8), (zeros + [0, 1], 128)]
        case "link-local": return [([169, 254, 0, 0], 16), ([0xFE, 0x80] + zeros, 64)]
        case "multicast": return [([224, 0, 0, 0], 4), ([0xFF, 0] + zeros, 8)]
        default: break
        }
        let parts = word.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let bytes = Array(parts[0].utf8)[...]
        guard (1...2).contains(parts.count),
            let address = IPAddress.version4(bytes) ?? IPAddress.version6(bytes)
        else { return nil }
        let bits = UInt32(address.count * 8)
        guard parts.count == 2 else { return [(address, bits)] }
        guard let prefix = UInt32(parts[1]), prefix <= bits else { return nil }
        return [(address, prefix)]
    }
}
