/// Finds text of events that a command would run as code: `sh -c '… %p …'`.
///
/// Shells and interpreters that take their program by an option are looked for at every word, so that whatever wraps
/// them (`env`, `timeout`, `docker exec`) is seen through. Those that take it as a plain argument (`awk`, `ssh`) have
/// names that may stand for anything else; they count as the program itself, or behind a known wrapper.
enum CodeCheck {
    private typealias Item = CommandText.Item

    /// The pieces of the command that are both chosen by others and code, with the variables that hold the same.
    static func foreignText(in items: [CommandText.Item]) -> [(text: SourceText, variable: String?)] {
        guard items.contains(where: { $0.foreignText != nil }) else { return [] }
        return codeIndices(in: items).compactMap { index in
            items[index].foreignText.map { ($0, items[index].foreignSpecifier?.foreignVariable) }
        }
    }

    /// The words that a program of the command reads as code, in their order.
    static func codeIndices(in items: [CommandText.Item]) -> [Int] {
        let isWrapped = items.first.flatMap(programName).map { Interpreter.wrappers.contains($0) } ?? false
        var code: [Int] = []
        for index in items.indices {
            guard let name = programName(items[index]), let interpreter = Interpreter.named(name) else { continue }
            if interpreter.isAmbiguous, index > 0, !isWrapped { continue }
            code += interpreter.code(in: items, after: index)
        }
        return code.withoutRepeats.sorted()
    }

    /// The last component, without a version: `python` of `/usr/bin/python3.11`.
    private static func programName(_ item: CommandText.Item) -> String? {
        guard item.isLiteral else { return nil }
        let component = item.prefix.split(separator: UInt8(ascii: "/")).last ?? []
        let name = String(decoding: component, as: UTF8.self)
        let end = name.lastIndex { !"0123456789.-".contains($0) }
        return end.map { String(name[...$0]) }
    }
}
