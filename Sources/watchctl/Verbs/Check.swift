import ConfigurationFiles
import LinuxSystem
import Schedule
import TimeZoneFiles
import Varlink
import WatchFile

extension Verb {
    static let check = Verb(
        name: "check", operands: "FILE…", operandCount: 1...Int.max,
        summary: "check watch files and folders; needs no daemon"
    ) { (invocation, session) throws(Failure) in
        let read = ConfigurationFiles.read(arguments: invocation.operands)
        let zones = TimeZoneDatabase()
        var context = LoadContext(
            processors: Linux.processorCount, localZone: zones.local(), now: Linux.now(.realtime)
        ) {
            try? zones.rules(named: $0)
        }
        context.lookUpOwners()
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
        if !session.isJSON { session.print([Styled("\(Phrases.count(read.texts.count, "file")), no errors", .green)]) }
        return .done
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
