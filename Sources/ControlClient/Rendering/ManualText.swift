import Schedule

/// The part of `watchctl(1)` that `Verb` and `Option` know, in the language of mdoc(7).
enum ManualText {
    /// The sections OPTIONS and VERBS.
    static func sections() -> String {
        let options = Option.allCases.filter(Option.global.contains)
        let verbs = Verb.all.flatMap { item($0) }
        return
            ([
                ".\\\" Printed by watchctl help --mdoc, from here to the end of VERBS.", ".Sh OPTIONS",
                "Every verb has these.", "They stand before or after it, their value behind them or after an",
                ".Ql = ;", ".Ql --", "ends them.",
            ] + list(options) + [".Sh VERBS", ".Bl -tag -width Ds"] + verbs + [".El"])
            .joined(separator: "\n") + "\n"
    }

    private static func item(_ verb: Verb) -> [String] {
        let options = verb.options.map { "Oo Fl \(flag($0))\(value($0)) Oc" }
        let head = [".It Ic \(verb.name)"] + options + [operands(verb.operands)].filter { !$0.isEmpty }
        return [head.joined(separator: " "), sentence(verb.summary)] + sentences(verb.notes)
            + (verb.options.isEmpty ? [] : list(verb.options))
    }

    private static func list(_ options: [Option]) -> [String] {
        [".Bl -tag -width Ds -compact"]
            + options.flatMap { [".It Fl \(flag($0))\(value($0))", sentence($0.summary)] } + [".El"]
    }

    /// `Fl` writes the first dash.
    private static func flag(_ option: Option) -> Substring { option.rawValue.dropFirst() }

    private static func value(_ option: Option) -> String {
        option.value.map { value in
            value.allSatisfy { $0.isUppercase } ? " Ar \(value)" : " Cm \(value)"
        } ?? ""
    }

    private static func operands(_ text: String) -> String {
        text.split(separator: " ").map { word in
            if let suffixed = suffixed(word) { return suffixed }
            let isOptional = word.hasPrefix("[")
            let bare = word.filter { !"[].…".contains($0) }
            if bare == "|" { return "No \\&|" }
            let list = word.contains("…") || word.contains("...") ? " ..." : ""
            let operand = (bare.first?.isUppercase ?? false ? "Ar \(bare)" : "Cm \(bare)") + list
            return isOptional ? "Oo \(operand) Oc" : operand
        }.joined(separator: " ")
    }

    /// `SEMAPHORE[:N]`; `nil`: it has no part that may be missing.
    private static func suffixed(_ word: Substring) -> String? {
        guard let parts = String(word).parts(around: "[:"), !parts.before.isEmpty, parts.after.hasSuffix("]") else {
            return nil
        }
        return "Ar \(parts.before) Ns Oo \\&: Ns Ar \(parts.after.dropLast()) Oc"
    }

    private static func sentence(_ summary: String) -> String {
        text(summary.prefix(1).uppercased() + summary.dropFirst() + ".")
    }

    /// Each on a line of its own, as mdoc(7) wants it.
    private static func sentences(_ notes: [String]) -> [String] {
        notes.joined(separator: " ").replacing(". ", with: ".\n").split(separator: "\n").map { text(String($0)) }
    }

    /// A line of text: no request, and dashes that can be copied.
    private static func text(_ line: String) -> String {
        let words = line.replacing("\\", with: "\\e").replacing("…", with: "...").split(
            separator: " ", omittingEmptySubsequences: false)
        let escaped = words.map { $0.hasPrefix("-") ? String($0).replacing("-", with: "\\-") : String($0) }
            .joined(separator: " ")
        return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&\(escaped)" : escaped
    }
}
