import JSON
import Varlink

/// An interface description, read: what members each type, method and error has.
struct InterfaceText {
    indirect enum Kind: Equatable {
        /// `bool`, `int`, `float`, `string`, `object`, or the name of a type.
        case named(String)
        case list(Kind)
        case dictionary(Kind)
        case optional(Kind)
        case record([Member])
        case cases([String])
    }

    struct Member: Equatable {
        var name: String
        var kind: Kind
    }

    private(set) var types: [String: Kind] = [:]
    private(set) var methods: [String: (parameters: Kind, reply: Kind)] = [:]
    private(set) var errors: [String: Kind] = [:]
    private var tokens: ArraySlice<String>

    struct Failure: Error {
        var token: String?
    }

    init(_ text: String) throws {
        let lines = text.split(separator: "\n").filter { !$0.trimmed.hasPrefix("#") }
        let separated = lines.joined(separator: " ").replacing("->", with: " -> ")
        var spaced = ""
        for character in separated { spaced += "():,?[]".contains(character) ? " \(character) " : String(character) }
        tokens = spaced.split(separator: " ").map(String.init)[...]
        try expect("interface")
        _ = tokens.popFirst()
        while let word = tokens.popFirst() {
            guard let name = tokens.popFirst() else { throw Failure() }
            switch word {
            case "type": types[name] = try kind()
            case "error": errors[name] = try kind()
            case "method":
                let parameters = try kind()
                try expect("->")
                methods[name] = (parameters, try kind())
            default: throw Failure(token: word)
            }
        }
    }

    private mutating func expect(_ token: String) throws {
        let next = tokens.popFirst()
        guard next == token else { throw Failure(token: next) }
    }

    private mutating func kind() throws -> Kind {
        guard let token = tokens.popFirst() else { throw Failure() }
        switch token {
        case "?": return .optional(try kind())
        case "[":
            let isDictionary = tokens.first == "string"
            if isDictionary { tokens.removeFirst() }
            try expect("]")
            return isDictionary ? .dictionary(try kind()) : .list(try kind())
        case "(": return try members()
        default: return .named(token)
        }
    }

    private mutating func members() throws -> Kind {
        var record: [Member] = []
        var cases: [String] = []
        while let name = tokens.popFirst() {
            if name == ")" { break }
            if name == "," { continue }
            if tokens.first == ":" {
                tokens.removeFirst()
                record.append(Member(name: name, kind: try kind()))
            } else {
                cases.append(name)
            }
        }
        return cases.isEmpty ? .record(record) : .cases(cases)
    }

    /// Where a value is not as described. A `complete` one also has every member that may be missing.
    func mismatches(of value: JSONValue, with kind: Kind, isComplete: Bool, at path: String = "") -> [String] {
        switch (kind, value) {
        case (.named("bool"), .bool), (.named("int"), .int), (.named("float"), .double), (.named("string"), .string),
            (.named("object"), .object):
            return []
        case (.named(let name), _):
            guard let type = types[name] else { return ["\(path): \(value) is not of type \(name)"] }
            return mismatches(of: value, with: type, isComplete: isComplete, at: path)
        case (.optional(let kind), _): return mismatches(of: value, with: kind, isComplete: isComplete, at: path)
        case (.list(let kind), .array(let values)):
            return values.flatMap { mismatches(of: $0, with: kind, isComplete: isComplete, at: path + "[]") }
        case (.dictionary(let kind), .object(let members)):
            return members.flatMap { mismatches(of: $1, with: kind, isComplete: isComplete, at: path + "." + $0) }
        case (.cases(let cases), .string(let name)): return cases.contains(name) ? [] : ["\(path): no case \(name)"]
        case (.record(let described), .object(var members)):
            let found = described.flatMap { member in
                let path = path + "." + member.name
                guard let value = members.removeValue(forKey: member.name) else {
                    if case .optional = member.kind, !isComplete { return [String]() }
                    return ["\(path) is missing"]
                }
                return mismatches(of: value, with: member.kind, isComplete: isComplete, at: path)
            }
            return found + members.keys.map { "\(path).\($0) is not described" }
        default: return ["\(path): \(value) is not \(kind)"]
        }
    }
}

extension Substring {
    fileprivate var trimmed: Substring { drop { $0 == " " } }
}
