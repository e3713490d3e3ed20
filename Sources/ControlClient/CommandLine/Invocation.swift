import Schedule
import WatchFile

/// The command line, understood.
struct Invocation {
    var verb: Verb
    /// The values of the options; of those without one, an empty text.
    var options: [Option: String] = [:]
    /// All values of an option, in their order.
    var values: [Option: [String]] = [:]
    var operands: [String] = []
    /// Where they stand among the arguments.
    var operandPlaces: [Int] = []
    /// The arguments as they were given, byte for byte.
    var bytes: [[UInt8]] = []
    /// No verb was given.
    var isBare = false

    func has(_ option: Option) -> Bool { options[option] != nil }

    /// The operands byte for byte.
    var operandBytes: [[UInt8]] {
        zip(operands, operandPlaces).map { operand, place in
            bytes.indices.contains(place) ? bytes[place] : Array(operand.utf8)
        }
    }

    /// - Throws: a usage error unless the option's value is a whole number.
    func number(_ option: Option) throws(Failure) -> Int? {
        guard let text = options[option] else { return nil }
        guard let number = Int(text) else {
            throw .usage("\(option.rawValue) takes a whole number, not “\(text)”")
        }
        return number
    }

    /// - Throws: a usage error unless the option's value is a time span.
    func span(_ option: Option) throws(Failure) -> TimeSpan? {
        guard let text = options[option] else { return nil }
        guard let span = try? TimeSpan(parsing: text) else {
            let help = "such as \(option.rawValue) 30s, or \(option.rawValue) \"1h 30min\""
            throw .usage("“\(text)” is not a time span", help: help)
        }
        return span
    }

    /// How long any reply may take, in ms, where the command line says so; for ever is `.max`. A verb with a time-out
    /// of its own gives that to the daemon.
    func limit() throws(Failure) -> Int? {
        guard hasLimit, let span = try span(.timeout) else { return nil }
        guard span > .zero else { throw .usage("--timeout takes a span longer than 0") }
        return span == .infinity ? .max : Int(clamping: (span.microseconds - 1) / 1000 + 1)
    }
}

extension Invocation {
    /// `--timeout` is how long any reply may take.
    private var hasLimit: Bool { !verb.options.contains(.timeout) && !verb.hasOwnTimeout(options) }

    /// For who waits in vain for a reply: what may become of it.
    var later: String {
        (hasLimit ? "; --timeout SPAN waits longer" : "") + (verb.changes ? "; what was asked may still be done" : "")
    }

    /// Names travel as UTF-8: what is not must not be replaced silently. Paths and the command of `run --queue` may be
    /// any bytes.
    init(bytes: [[UInt8]]) throws(Failure) {
        let isText = bytes.map { String(validating: $0, as: UTF8.self) != nil }
        do throws(Failure) {
            try self.init(arguments: bytes.map { String(decoding: $0, as: UTF8.self) })
        } catch {
            throw isText.contains(false) ? .isNoText : error
        }
        self.bytes = bytes
        let places = Set(operandPlaces.dropFirst(isSubmission ? 0 : verb.firstPath))
        if isText.indices.contains(where: { !isText[$0] && !places.contains($0) }) { throw .isNoText }
    }

    /// Understands the arguments (without the program's name). The verb is the first that is no option; options may
    /// stand before and after it, with their value behind them or after `=`; `--` ends them.
    /// - Throws: a usage error.
    init(arguments: [String]) throws(Failure) {
        var (words, places): ([String], [Int]) = ([], [])
        var (options, values): ([Option: String], [Option: [String]]) = ([:], [:])
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if Self.goesOnWithCommand(words, options) {
                words += [argument] + rest
                places += (rest.startIndex - 1)..<rest.endIndex
                break
            }
            if argument == "--" {
                words += rest
                places += rest.indices
                break
            }
            guard argument.hasPrefix("-"), argument != "-" else {
                words.append(argument)
                places.append(rest.startIndex - 1)
                continue
            }
            let (option, value) = try Self.option(argument)
            if option.value == nil {
                options[option] = ""
            } else {
                guard let value = value ?? rest.popFirst(), !(value.isEmpty && option == .socket) else {
                    throw .usage("\(option.rawValue) needs a value: \(option.rawValue) \(option.value ?? "")")
                }
                options[option] = value
                values[option, default: []].append(value)
            }
        }
        let name = words.first ?? Verb.status.name
        self.init(
            verb: try Verb.named(name), options: options, values: values, operands: Array(words.dropFirst()),
            operandPlaces: Array(places.dropFirst()), isBare: words.isEmpty)
        try check()
    }

    private static func goesOnWithCommand(_ words: [String], _ options: [Option: String]) -> Bool {
        Verb.all.first { $0.name == words.first }?.hasCommand(words, options) ?? false
    }

    /// The option that an argument names, and the value that it carries.
    private static func option(_ argument: String) throws(Failure) -> (Option, value: String?) {
        if argument.hasPrefix(Option.count.rawValue), !argument.hasPrefix("--"), argument.utf8.count > 2 {
            return (.count, String(argument.dropFirst(2).drop { $0 == "=" }))
        }
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let name = parts[0] == "-h" ? Option.help.rawValue : parts[0]
        guard let option = Option(rawValue: name) else {
            throw unknown(option: name)
        }
        if option.value == nil, parts.count > 1 { throw .usage("\(name) takes no value") }
        return (option, parts.count > 1 ? parts[1] : nil)
    }

    private func check() throws(Failure) {
        guard !has(.help), !has(.version) else { return }
        let help = "usage: watchctl \(verb.synopsis)"
        if let alien = Option.allCases.first(where: {
            has($0) && !Option.global.contains($0) && !verb.options.contains($0)
        }) {
            throw .usage("“\(verb.name)” has no option \(alien.rawValue)", help: help)
        }
        if operands.count < verb.operandCount.lowerBound {
            throw .usage("“\(verb.name)” needs \(verb.operands)", help: help)
        }
        if operands.count > verb.operandCount.upperBound {
            throw .usage("“\(verb.name)” has no use for “\(operands[verb.operandCount.upperBound])”", help: help)
        }
    }

    private static func unknown(option name: String) -> Failure {
        let nearest = Spelling.nearest(to: name, among: Option.allCases.map(\.rawValue).filter { $0.hasPrefix("--") })
        return .usage(
            "there is no option “\(name)”",
            help: nearest.map { "did you mean “\($0)”?" } ?? "watchctl --help shows what there is")
    }
}
