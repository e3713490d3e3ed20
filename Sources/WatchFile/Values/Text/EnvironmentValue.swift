/// `Environment=`: words of `NAME=value` with systemd's quoting (`systemd.exec(5)`).
enum EnvironmentValue {
    static func read(_ text: SourceText, key: Key, _ problems: inout Problems) -> [EnvironmentVariable]? {
        guard let words = Word.split(text, &problems) else { return nil }
        let variables = words.map { variable($0, key: key, &problems) }
        let valid = variables.compactMap { $0 }
        return valid.count == variables.count ? valid : nil
    }

    private static func variable(_ word: Word, key: Key, _ problems: inout Problems) -> EnvironmentVariable? {
        let bytes = word.bytes
        guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")) else {
            problems.error("\(word.text.shown) is not NAME=value", at: word.text)
            return nil
        }
        let name = bytes[..<equals]
        let place = equals == 0 ? word.text : word.source(of: 0..<equals)
        guard isName(name, at: place, &problems) else { return nil }
        word.warnAboutSpecifiers(key: key, &problems)
        return EnvironmentVariable(name: String(decoding: name, as: UTF8.self), value: Array(bytes[(equals + 1)...]))
    }

    /// Tells what is wrong with the name of a variable.
    static func isName(_ name: ArraySlice<UInt8>, at place: SourceText, _ problems: inout Problems) -> Bool {
        guard EnvironmentVariable.isName(name) else {
            problems.error(
                "the name of a variable is made of letters, digits and _ and does not begin with a digit", at: place)
            return false
        }
        guard !name.starts(with: "WATCHD_".utf8) else {
            problems.error("names that begin with WATCHD_ are set by watchd itself", at: place)
            return false
        }
        return true
    }
}
