import Schedule

/// Reads the value of one assignment by its key's type; tells what is wrong with it.
struct ValueReader {
    let key: Key
    /// Not empty.
    let text: SourceText
    /// Of calendar expressions.
    let zones: CalendarExpression.ZoneNames

    /// `nil` after an error.
    func read(_ problems: inout Problems) -> Value? {
        guard mayCarryAnyByte || TextCheck.isText(text, &problems) else { return nil }
        switch key.type {
        case .flag: return flag(&problems).map(Value.flag)
        case .number(let range): return number(in: range, &problems).map(Value.number)
        case .numberOrInfinity(let range): return limit(in: range, &problems).map(Value.limit)
        case .signed(let range): return signed(in: range, &problems).map(Value.number)
        case .resourceLimit(let resource): return resourceLimit(resource, &problems).map(Value.resourceLimit)
        case .size(let range): return size(in: range, &problems).map(Value.number)
        case .sizeOrInfinity(let range):
            if text.string == "infinity" { return .limit(nil) }
            return size(in: range, &problems).map { .limit($0) }
        case .percent(let range): return percent(in: range, &problems).map(Value.number)
        case .watches: return watches(&problems).map(Value.watches)
        case .span(let rule): return span(rule, &problems).map(Value.span)
        case .choice(let words, let later):
            return choose(text, of: words, later: later, &problems).map(Value.word)
        case .choices(let words, let later):
            return all(text.words) { choose($0, of: words, later: later, &problems) }.map(Value.words)
        case .names: return names(&problems).map(Value.names)
        case .predecessors: return all(text.words) { predecessor($0, &problems) }.map(Value.names)
        case .members: return all(text.words) { member($0, &problems) }.map(Value.names)
        case .counts(let range): return counts(in: range, &problems).map(Value.counts)
        case .rate: return rate(&problems).map(Value.rate)
        case .signal: return signal(text, &problems).map { .signals([$0]) }
        case .claimedSignals: return all(text.words) { claimedSignal($0, &problems) }.map(Value.signals)
        case .exitStatuses: return exitStatuses(&problems).map(Value.exitStatuses)
        case .processEvents: return all(text.words) { processEvent($0, &problems) }.map(Value.words)
        case .text: return .text(text.string)
        case .path: return PathValue.read(text, key: key, &problems).map(Value.path)
        case .folder: return folder(&problems).map(Value.path)
        case .environmentFile: return environmentFile(&problems).map(Value.environmentFile)
        case .variableNames: return all(text.words) { variableName($0, &problems) }.map(Value.words)
        case .credentials: return all(text.words) { credential($0, &problems) }.map(Value.words)
        case .account: return account(text, &problems).map { .words([$0]) }
        case .accounts: return all(text.words) { account($0, &problems) }.map(Value.words)
        case .paths: return paths(&problems).map(Value.paths)
        case .globs: return globs(&problems).map(Value.globs)
        case .fileName: return fileName(&problems).map(Value.path)
        case .pathPattern: return pathPattern(&problems).map(Value.pathPattern)
        case .output: return output(&problems).map(Value.output)
        case .pathCondition: return pathCondition(&problems).map(Value.pathCondition)
        case .units: return all(text.words) { unit($0, &problems) }.map(Value.words)
        case .unitTemplates: return all(text.words) { unitTemplate($0, &problems) }.map(Value.templates)
        case .environment: return EnvironmentValue.read(text, key: key, &problems).map(Value.environment)
        case .command: return CommandText(text, key: key, &problems).map(Value.command)
        case .template: return TemplateText(Word(raw: text), &problems).map(Value.template)
        case .key: return keyText(&problems).map(Value.key)
        case .emission: return emission(&problems).map(Value.emission)
        case .address: return AddressValue.read(text, key: key, &problems).map(Value.address)
        case .mailAddresses: return all(text.words) { mailAddress($0, &problems) }.map(Value.words)
        case .netlink: return netlink(&problems).map(Value.netlink)
        case .pressure: return pressure(&problems).map(Value.pressure)
        case .pattern: return pattern(&problems).map(Value.pattern)
        case .submitters: return submitters(&problems).map(Value.submitters)
        case .mode: return mode(&problems).map(Value.number)
        case .calendar: return calendar(text, &problems).map(Value.calendar)
        case .cron: return cron(&problems).map(Value.cron)
        case .holdConditions: return all(text.words) { holdCondition($0, &problems) }.map(Value.holdConditions)
        case .window: return window(&problems).map(Value.window)
        case .unitProperty(let form): return unitProperty(form, &problems).map(Value.unitProperty)
        }
    }

    private var mayCarryAnyByte: Bool {
        switch key.type {
        case .path, .folder, .environmentFile, .paths, .globs, .fileName, .pathPattern, .pathCondition, .output,
            .command, .holdConditions,
            .address:
            true
        default: false
        }
    }

    /// Reads every element, so that all errors are told; `nil` if there was one.
    func all<Element>(_ texts: [SourceText], _ read: (SourceText) -> Element?) -> [Element]? {
        let elements = texts.map(read)
        let valid = elements.compactMap { $0 }
        return valid.count == elements.count ? valid : nil
    }

    func refuse(_ problems: inout Problems, _ reason: String, at place: SourceText? = nil, suggestion: String? = nil) {
        let place = place ?? text
        problems.error("\(key.name)=\(place.shown) \(reason)", at: place, suggestion: suggestion)
    }

    func refuseUnsupported(_ problems: inout Problems, at place: SourceText? = nil) {
        refuse(&problems, "is not supported by this version", at: place)
    }

    /// One of the words; a word of `later` is known and refused.
    func choose(_ word: SourceText, of words: [String], later: [String], _ problems: inout Problems) -> String? {
        let string = word.string
        if words.contains(string) { return string }
        if later.contains(string) {
            refuseUnsupported(&problems, at: word)
        } else {
            refuse(
                &problems, words.count == 1 ? "is not \(words[0])" : "is not one of \(words.joined(separator: ", "))",
                at: word,
                suggestion: ForeignNames.word(string, of: words) ?? problems.nearest(to: string, among: words + later))
        }
        return nil
    }

    private func output(_ problems: inout Problems) -> StandardOutput? {
        for (prefix, make) in [("file:", StandardOutput.file), ("append:", StandardOutput.append)]
        where text.bytes.starts(with: prefix.utf8) {
            let path = text[text.bytes.startIndex + prefix.utf8.count..<text.bytes.endIndex]
            guard !path.isEmpty else {
                problems.error("\(key.name)=\(prefix) needs a path", at: text)
                return nil
            }
            return PathValue.read(path, key: key, &problems).map(make)
        }
        switch text.string {
        case "journal": return .journal
        case "null": return .null
        case "inherit": return .inherit
        default:
            refuse(
                &problems, "is not one of journal, null, inherit, file:PATH, append:PATH",
                suggestion: problems.nearest(to: text.string, among: ["journal", "null", "inherit"]))
            return nil
        }
    }

    private func keyText(_ problems: inout Problems) -> Value.KeyText? {
        if text.string == "none" { return Value.KeyText.none }
        return TemplateText(Word(raw: text), &problems).map(Value.KeyText.template)
    }
}
