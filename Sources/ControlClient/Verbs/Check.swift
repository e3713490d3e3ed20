import ConfigurationFiles
import JSON
import LinuxSystem
import Schedule
import TimeZoneFiles
import Varlink
import WatchFile

extension Verb {
    static let check = Verb(
        name: "check", operands: "[FILE…]", operandCount: 0...Int.max,
        summary: "check watch files and folders, or those of the default folder; needs no daemon",
        notes: ["The file “-” is the standard input."]
    ) { (invocation, session) throws(Failure) in
        let read = try read(invocation.operands)
        let zones = TimeZoneDatabase()
        var context = LoadContext(
            processors: Linux.processorCount, localZone: zones.local(), now: Linux.now(.realtime)
        ) {
            try? zones.rules(named: $0)
        }
        context.lookAround()
        let loaded = WatchFile.load(read.texts, context: context)
        let diagnostics = read.diagnostics + loaded.diagnostics
        if session.isJSON {
            let list = JSONValue.array(diagnostics.map(json))
            if let text = try? JSON.encode(["diagnostics": list]) { session.print(json: text) }
        } else {
            session.print(diagnostics.flatMap { Styled.block($0.rendered()) })
        }
        let errors = diagnostics.count { $0.severity == .error }
        if errors > 0 {
            throw Failure(message: Phrases.count(errors, "error"), exitCode: .badWatchFile)
        }
        if !session.isJSON {
            let place = invocation.operands.isEmpty ? folder(of: read.texts).map { "\($0): " } : nil
            let count = Phrases.count(read.texts.count, "file")
            let found = diagnostics.isEmpty ? "no errors" : "no errors, " + Phrases.count(diagnostics.count, "warning")
            session.print([Styled("\(place ?? "")\(count), \(found)", diagnostics.isEmpty ? .green : .yellow)])
        }
        return .done
    }

    /// The files that are named; without any, those that watchd would read.
    private static func read(
        _ operands: [String]
    ) throws(Failure) -> (texts: [WatchFileText], diagnostics: [Diagnostic]) {
        let named = operands.filter { $0 != standardInput }
        var read: (texts: [WatchFileText], diagnostics: [Diagnostic]) = ([], [])
        if operands.isEmpty || !named.isEmpty { read = ConfigurationFiles.read(arguments: named) }
        if operands.contains(standardInput) {
            do throws(SystemError) {
                let bytes = try Linux.readToEnd(0, limit: ConfigurationFiles.largestFile)
                read.texts.append(WatchFileText(file: "standard input", bytes: bytes, dropInOf: nil))
            } catch {
                throw Failure(message: "the standard input cannot be read: \(error.errno)", exitCode: .failed)
            }
        }
        return read
    }

    private static let standardInput = "-"

    private static func folder(of texts: [WatchFileText]) -> String? {
        texts.first.flatMap { text in text.file.lastIndex(of: "/").map { String(text.file[..<$0]) } }
    }

    private static func json(_ diagnostic: Diagnostic) -> JSONValue {
        var members: [String: JSONValue] = [
            "severity": .string(diagnostic.severity.rawValue), "file": .string(diagnostic.location.file),
            "message": .string(diagnostic.sentence),
        ]
        members["line"] = diagnostic.location.line.map { .int(Int64($0)) }
        members["column"] = diagnostic.location.column.map { .int(Int64($0)) }
        return .object(members)
    }
}
