extension Interpreter {
    /// Indices of the words that are code, for a program that stands at `program`.
    func code(in items: [CommandText.Item], after program: Int) -> [Int] {
        if case .everything = place { return Array(items.indices.dropFirst(program + 1)) }
        var scan = OptionScan(interpreter: self)
        var index = program + 1
        while index < items.endIndex, !scan.isFinished {
            index += scan.read(items, at: index)
        }
        return scan.code.filter { items.indices.contains($0) }
    }
}

/// Walks along the arguments of an interpreter.
private struct OptionScan {
    let interpreter: Interpreter
    private(set) var code: [Int] = []
    private(set) var isFinished = false
    private var hasCodeOption = false
    private var hasFile = false
    private var optionsEnded = false
    /// The next plain word may be the argument of a long option that is not known here.
    private var mayBeArgument = false

    init(interpreter: Interpreter) { self.interpreter = interpreter }

    /// The words it took.
    mutating func read(_ items: [CommandText.Item], at index: Int) -> Int {
        let prefix = items[index].prefix
        let dash = UInt8(ascii: "-")
        let isOption = !optionsEnded && prefix.count > 1 && (prefix[0] == dash || prefix[0] == UInt8(ascii: "+"))
        guard isOption else {
            readOperand(at: index)
            return 1
        }
        if prefix.elementsEqual("--".utf8), items[index].isLiteral {
            optionsEnded = true
            return 1
        }
        if prefix[1] == dash { return readLong(String(decoding: prefix.dropFirst(2), as: UTF8.self), at: index) }
        return readLetters(items[index], at: index)
    }

    private mutating func readOperand(at index: Int) {
        switch interpreter.place {
        case .operandAfterOption where hasCodeOption: code.append(index)
        case .optionOrOperand where !hasCodeOption && !hasFile: code.append(index)
        default: break
        }
        let mayGoOn = mayBeArgument || !interpreter.stopsAtOperand
        isFinished = !mayGoOn
        mayBeArgument = false
    }

    private mutating func readLong(_ option: String, at index: Int) -> Int {
        let name = option.prefix { $0 != "=" }
        if name == "file" { hasFile = true }
        guard interpreter.longOptions.contains(String(name)) else {
            mayBeArgument = name.count == option.count && !interpreter.place.isOperand
            return 1
        }
        hasCodeOption = true
        if name.count < option.count {
            code.append(index)
            return 1
        }
        if case .operandAfterOption = interpreter.place { return 1 }
        code.append(index + 1)
        return 2
    }

    /// A cluster such as `-ec`; what follows a letter with an argument is that argument.
    private mutating func readLetters(_ item: CommandText.Item, at index: Int) -> Int {
        let letters = String(decoding: item.prefix.dropFirst(), as: UTF8.self)
        var rest = letters[...]
        while let letter = rest.popFirst() {
            let isLast = rest.isEmpty && item.isLiteral
            if interpreter.letters.contains(letter) {
                hasCodeOption = true
                if case .operandAfterOption = interpreter.place { continue }
                code.append(isLast ? index + 1 : index)
                return isLast ? 2 : 1
            }
            if interpreter.lettersWithRest.contains(letter) { return 1 }
            if interpreter.finalLetters.contains(letter) { isFinished = true }
            let isFile = interpreter.lettersOfFile.contains(letter)
            if isFile { hasFile = true }
            if isFile || interpreter.lettersWithArgument.contains(letter) {
                if case .operandAfterOption = interpreter.place, !isLast { continue }
                return isLast ? 2 : 1
            }
        }
        return 1
    }
}

extension Interpreter.Place {
    /// The first plain argument is code by itself.
    fileprivate var isOperand: Bool {
        switch self {
        case .optionOrOperand: true
        case .operandAfterOption, .option, .everything: false
        }
    }
}
