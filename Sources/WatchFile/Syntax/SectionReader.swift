import Schedule

/// Reads the sections of one file, with their entries.
struct SectionReader {
    let file: SourceFile
    /// The file that the sections belong to: for a drop-in the one that it extends.
    let owner: String
    let isDropIn: Bool
    /// Sections that may still come.
    private var budget: Int
    private(set) var sections: [SectionText] = []
    private var state = State.beforeFirst
    /// The single-valued keys given so far in this section, and where.
    private var given: [String: SourceText] = [:]
    /// A key before the first section has been told of, of those that no translation follows.
    private var hasToldOfBeginning = false
    /// Of a table of cron; read once there is a line of one.
    private var crontabUsers: CrontabUsers?

    private enum State {
        case beforeFirst
        /// The last of `sections` takes the entries.
        case open
        /// The user's own, or a section that has been refused: its entries are passed over.
        case skipping
        /// Too many sections: nothing is read any more.
        case stopped
    }

    private let context: LoadContext
    /// Of calendar expressions.
    private let zones: CalendarExpression.ZoneNames

    init(file: SourceFile, dropInOf base: String?, budget: Int, context: LoadContext) {
        (self.context, zones) = (context, context.zoneNames)
        self.file = file
        owner = base ?? file.name
        isDropIn = base != nil
        self.budget = budget
    }

    mutating func read(into problems: inout Problems) {
        var reader = self
        LineReader(file: file).forEachLine(&problems) { line, problems in
            if line.bytes.first == UInt8(ascii: "[") {
                reader.header(line, &problems)
            } else {
                reader.assignment(line, &problems)
            }
        }
        self = reader
    }

    // MARK: Headers

    private mutating func header(_ line: SourceText, _ problems: inout Problems) {
        if case .stopped = state { return }
        state = .skipping
        guard budget > 0 else {
            problems.error("more than \(WatchFile.maximumSections) sections", at: line)
            state = .stopped
            return
        }
        budget -= 1
        guard TextCheck.isText(line, &problems) else { return }
        guard let words = headerWords(line, &problems) else { return }
        guard let first = words.first else {
            problems.error("a section is written [Kind name]", at: line)
            return
        }
        if first.bytes.starts(with: "X-".utf8) { return }
        guard let kind = SectionKind(rawValue: first.string) else {
            if let translation = ForeignNames.section(first.string) {
                return problems.error("unknown kind of section [\(first.shown)]: \(translation)", at: first)
            }
            let nearest = problems.nearest(to: first.string, among: SectionKind.allCases.map(\.rawValue))
            problems.error(
                "unknown kind of section [\(first.shown)]", at: first, suggestion: nearest.map { "[\($0)]" })
            return
        }
        open(kind, name: Array(words.dropFirst()), header: line, &problems)
    }

    /// The words in the brackets, also where something is wrong about those; `nil`: what stands in them is not known.
    private func headerWords(_ line: SourceText, _ problems: inout Problems) -> [SourceText]? {
        let start = line.bytes.startIndex + 1
        guard let end = line.bytes.firstIndex(of: UInt8(ascii: "]")) else {
            problems.error("a section is written [Kind name]: the ] is missing", at: line)
            let words = line[start..<line.bytes.endIndex].words
            return words.count == 2 ? words : nil
        }
        let rest = line[end + 1..<line.bytes.endIndex].trimmed
        if let first = rest.bytes.first {
            let isComment = "#;".utf8.contains(first)
            problems.error(
                isComment ? "a comment stands on a line of its own" : "nothing may stand behind the ] of a section",
                at: rest)
        }
        return line[start..<end].words
    }

    private mutating func open(
        _ kind: SectionKind, name words: [SourceText], header: SourceText, _ problems: inout Problems
    ) {
        given = [:]
        state = .open
        sections.append(
            SectionText(
                kind: kind, name: name(words, of: kind, &problems), header: header, owner: owner,
                isDropIn: isDropIn))
    }

    /// `nil` when it cannot be one; the entries are read all the same.
    private func name(_ words: [SourceText], of kind: SectionKind, _ problems: inout Problems) -> String? {
        guard let first = words.first else { return "" }
        if words.count > 1 {
            problems.error("a name is one word of A-Za-z0-9_.-", at: words[1])
        } else if kind == .watchd {
            problems.error("[Watchd] has no name", at: first)
        } else if !TextCheck.isName(first.bytes) {
            problems.error(
                "\(first.shown) is not a name: 1 to \(TextCheck.maximumNameLength) characters of A-Za-z0-9_.-",
                at: first)
        } else {
            return first.string
        }
        return nil
    }

    // MARK: Assignments

    private mutating func assignment(_ line: SourceText, _ problems: inout Problems) {
        switch state {
        case .stopped, .skipping: return
        case .beforeFirst:
            guard let (key, _) = split(line, &problems) else { return }
            let translation = ForeignNames.key(key.string, in: .handler).map { "; \($0.sentence)" }
            // Of keys that are right, but for their place, once is enough.
            if translation == nil {
                guard !hasToldOfBeginning else { return }
                hasToldOfBeginning = true
            }
            problems.error("\(key.shown)= stands before the first section\(translation ?? "")", at: key)
        case .open:
            guard let (keyText, text) = split(line, &problems), let section = sections.indices.last else { return }
            if let entry = entry(keyText, text, in: sections[section].kind, &problems) {
                sections[section].entries.append(entry)
            }
        }
    }

    /// `nil` where the line is no assignment, or one of the user's own.
    private mutating func split(
        _ line: SourceText, _ problems: inout Problems
    ) -> (key: SourceText, value: SourceText)? {
        if let crontab = CrontabLine(line) {
            let users = crontabUsers ?? CrontabUsers(file, context)
            crontabUsers = users
            let translation = crontab.translation(hasUser: users.stands(in: crontab))
            problems.error("a line of crontab(5): write \(translation)", at: line)
            return nil
        }
        if let translation = IncrontabLine.translation(line) {
            problems.error("a line of incrontab(5): write \(translation)", at: line)
            return nil
        }
        // A path and a command that has a = are no key.
        guard line.bytes.first != UInt8(ascii: "/"), let equals = line.bytes.firstIndex(of: UInt8(ascii: "=")) else {
            problems.error("neither [Kind name] nor Key=Value", at: line)
            return nil
        }
        let key = line[line.bytes.startIndex..<equals].trimmed
        let value = line[equals + 1..<line.bytes.endIndex].trimmed
        if key.bytes.starts(with: "X-".utf8) { return nil }
        guard !key.isEmpty else {
            problems.error("a key is missing before the =", at: line)
            return nil
        }
        return TextCheck.isText(key, &problems) ? (key, value) : nil
    }

    private mutating func entry(
        _ keyText: SourceText, _ text: SourceText, in kind: SectionKind, _ problems: inout Problems
    ) -> Entry? {
        guard let key = KeyTable.key(keyText.string, in: kind) else {
            let meant = refuse(keyText, in: kind, &problems)
            return meant.map { Entry(key: $0, keyText: keyText, text: text, value: nil, isClearing: false) }
        }
        guard key.isSupported else {
            let translation = ForeignNames.key(key.name, in: kind).map { ": \($0.text) does it" }
            problems.error("\(key.name)= is not supported by this version\(translation ?? "")", at: keyText)
            return Entry(key: key, keyText: keyText, text: text, value: nil, isClearing: false)
        }
        if !key.isList {
            if let first = given[key.name] {
                problems.error(
                    "\(key.name)= is given twice in this section, first on line \(first.position.line)", at: keyText)
            }
            given[key.name] = keyText
        }
        if text.isEmpty {
            // An empty key is a value of its own: the handler itself.
            let value: Value? = if case .key = key.type { .key(.handler) } else { nil }
            return Entry(key: key, keyText: keyText, text: text, value: value, isClearing: value == nil)
        }
        let value = ValueReader(key: key, text: text, zones: zones).read(&problems)
        return Entry(key: key, keyText: keyText, text: text, value: value, isClearing: false)
    }

    /// Gives the key that was probably meant, so that nobody is told that it is missing.
    private func refuse(_ keyText: SourceText, in kind: SectionKind, _ problems: inout Problems) -> Key? {
        let name = keyText.string
        let message = "unknown key \(keyText.shown)= in [\(kind.rawValue)]"
        if UnitKeyTable.isKey(name), KeyTable.key("RunIn", in: kind) != nil {
            refuseUnitKey(name, message, at: keyText, &problems)
            return nil
        }
        let translation = ForeignNames.key(name, in: kind)
        if translation?.key == nil, KeyTable.key("RunIn", in: kind) != nil,
            let key = UnitKeyTable.key(UnitKeyTable.prefix + name)
        {
            problems.error("\(message); here that is \(key.name)= beside RunIn=unit", at: keyText)
            return nil
        }
        if let translation {
            let key = translation.key.flatMap { KeyTable.key($0, in: kind) }
            let other = translation.key.flatMap { key == nil ? otherPlace(of: $0) : nil }
            problems.error("\(message); \(translation.sentence)\(other.map { ", in \($0)" } ?? "")", at: keyText)
            return key
        }
        if let other = otherPlace(of: name) {
            problems.error("\(message); it belongs in \(other)", at: keyText)
            return nil
        }
        // Of those that are equally near the first, which means something beside Command= of a process.
        let first = kind == .process ? KeyTable.namesBesideCommand : []
        let nearest = problems.nearest(to: name, among: first + KeyTable.names(in: kind))
        problems.error(message, at: keyText, suggestion: nearest.map { "\($0)=" })
        return nearest.flatMap { KeyTable.key($0, in: kind) }
    }

    private func refuseUnitKey(_ name: String, _ message: String, at place: SourceText, _ problems: inout Problems) {
        if let reason = UnitKeyTable.refusal(name) {
            return problems.error("\(place.shown)= cannot be: \(reason)", at: place)
        }
        let nearest = problems.nearest(to: name, among: UnitKeyTable.names)
        problems.error(
            "\(message): neither systemd.exec(5) nor systemd.resource-control(5) has it", at: place,
            suggestion: nearest.map { "\($0)=" })
    }

    /// Where a key stands that this kind of section has not; `nil`: nowhere.
    private func otherPlace(of name: String) -> String? {
        let kinds = SectionKind.allCases.filter { KeyTable.key(name, in: $0) != nil }
        return kinds.first.map { place(of: kinds, $0) }
    }

    private func place(of kinds: [SectionKind], _ first: SectionKind) -> String {
        if kinds.count == 1 { return "[\(first.rawValue)]" }
        let places = kinds.contains(.handler) ? ["[Handler]", "a source"] : []
        let areSources = kinds.allSatisfy { $0.sourceKind != nil || $0 == .handler }
        guard areSources, kinds.contains(.timer), kinds.contains(.path) else {
            return "sections such as [\((kinds.contains(.handler) ? .handler : first).rawValue)]"
        }
        return (places.isEmpty ? ["a source"] : places).joined(separator: " or in ") + ", such as [Timer] or [Path]"
    }
}
