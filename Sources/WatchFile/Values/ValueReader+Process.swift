import Schedule

/// Values of `systemd.exec(5)`.
extension ValueReader {
    /// A whole number that may have a sign.
    func signed(in range: ClosedRange<Int>, _ problems: inout Problems) -> Int? {
        let hasSign = text.bytes.first.map { "+-".utf8.contains($0) } ?? false
        let digits = text.bytes.dropFirst(hasSign ? 1 : 0)
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else {
            refuse(&problems, "is not a whole number")
            return nil
        }
        if let number = Int(text.string), range.contains(number) { return number }
        refuse(&problems, "is not in \(range.lowerBound) to \(range.upperBound)")
        return nil
    }

    /// `150%`: of one processor.
    func percent(in range: ClosedRange<Int>, _ problems: inout Problems) -> Int? {
        let digits = text.bytes.dropLast()
        guard text.bytes.last == UInt8(ascii: "%"), !digits.isEmpty, digits.allSatisfy(\.isDigit) else {
            refuse(&problems, "is not a share of one processor, such as 20%")
            return nil
        }
        if let number = Int(String(decoding: digits, as: UTF8.self)), range.contains(number) { return number }
        refuse(&problems, "is not in \(range.lowerBound)% to \(range.upperBound)%")
        return nil
    }

    /// A number of inotify watches, or a share of those that a user may have.
    func watches(_ problems: inout Problems) -> WatchLimit? {
        let isShare = text.bytes.last == UInt8(ascii: "%")
        let digits = isShare ? text.bytes.dropLast() : text.bytes
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else {
            refuse(&problems, "is neither a number nor a share, such as 80%")
            return nil
        }
        let range = isShare ? 1...100 : KeyTable.count
        if let number = Int(String(decoding: digits, as: UTF8.self)), range.contains(number) {
            return isShare ? .share(number) : .number(number)
        }
        let unit = isShare ? "%" : ""
        refuse(&problems, "is not in \(range.lowerBound)\(unit) to \(range.upperBound)\(unit)")
        return nil
    }

    /// `LIMIT`, or `SOFT:HARD`.
    func resourceLimit(_ resource: ResourceLimit.Resource, _ problems: inout Problems) -> ResourceLimit? {
        let parts: [SourceText]
        if let colon = text.bytes.firstIndex(of: UInt8(ascii: ":")) {
            parts = [text[text.bytes.startIndex..<colon].trimmed, text[colon + 1..<text.bytes.endIndex].trimmed]
        } else {
            parts = [text]
        }
        let values = parts.compactMap { limit(resource, $0, &problems) }
        guard values.count == parts.count, let soft = values.first, let hard = values.last else { return nil }
        guard soft <= hard else {
            refuse(&problems, "has a soft limit above the hard one")
            return nil
        }
        return ResourceLimit(resource, soft: soft, hard: hard)
    }

    private func limit(
        _ resource: ResourceLimit.Resource, _ part: SourceText, _ problems: inout Problems
    ) -> UInt64? {
        if part.string == "infinity" { return ResourceLimit.infinity }
        let value: UInt64?
        switch resource {
        case .cpu: value = time(part, unit: 1_000_000)
        case .rttime: value = time(part, unit: 1)
        case .nice: value = niceLimit(part)
        case .nofile, .nproc, .locks, .sigpending, .rtprio: value = number(part)
        case .fsize, .data, .stack, .core, .rss, .addressSpace, .memlock, .msgqueue: value = bytes(part)
        }
        if value == nil {
            refuse(
                &problems, "is not \(resource.form), or infinity, or SOFT:HARD", at: part.isEmpty ? text : part,
                suggestion: problems.nearest(to: part.string, among: ["infinity"]))
        }
        return value
    }

    private func number(_ part: SourceText) -> UInt64? {
        guard !part.isEmpty, part.bytes.allSatisfy(\.isDigit) else { return nil }
        return UInt64(part.string).flatMap { $0 == ResourceLimit.infinity ? nil : $0 }
    }

    private func bytes(_ part: SourceText) -> UInt64? {
        let shifts = Dictionary(uniqueKeysWithValues: zip("KMGTPE".utf8, stride(from: UInt64(10), through: 60, by: 10)))
        guard let shift = part.bytes.last.flatMap({ shifts[$0] }) else { return number(part) }
        let count = number(part[part.bytes.startIndex..<part.bytes.endIndex - 1])
        guard let product = count?.multipliedReportingOverflow(by: 1 << shift), !product.overflow else { return nil }
        return product.partialValue
    }

    /// A span, which counts in `unit` where it names none; the part of a unit at its end counts as a whole one.
    private func time(_ part: SourceText, unit: UInt64) -> UInt64? {
        if let count = number(part) { return count }
        guard let span = try? TimeSpan(parsing: part.string), span != .infinity, span <= Self.maximumSpan else {
            return nil
        }
        return (UInt64(span.microseconds) + unit - 1) / unit
    }

    /// `+5` and `-5` are nice values; without a sign, the kernel's number of one: 20 less the nice value.
    private func niceLimit(_ part: SourceText) -> UInt64? {
        guard let sign = part.bytes.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else {
            return number(part).flatMap { $0 <= 40 ? $0 : nil }
        }
        guard part.bytes.dropFirst().allSatisfy(\.isDigit), let nice = Int(part.string), (-20...19).contains(nice)
        else { return nil }
        return UInt64(20 - nice)
    }
}

extension ResourceLimit.Resource {
    fileprivate var form: String {
        switch self {
        case .cpu: "a time in seconds, or with a unit"
        case .rttime: "a time in microseconds, or with a unit"
        case .nice: "a nice value with its sign, or a number up to 40"
        case .nofile, .nproc, .locks, .sigpending, .rtprio: "a whole number"
        case .fsize, .data, .stack, .core, .rss, .addressSpace, .memlock, .msgqueue:
            "a size: a number of bytes, perhaps with K, M, G, T, P or E behind it"
        }
    }
}
