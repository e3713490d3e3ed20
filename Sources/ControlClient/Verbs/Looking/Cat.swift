import ConfigurationFiles
import ControlInterface
import JSON
import Varlink
import WatchFile

extension Verb {
    static let cat = Verb(
        name: "cat", operands: "[NAME]", operandCount: 0...1, options: [.all],
        summary: "print what the watch files come to, each key with its file and line",
        notes: [
            "The files are those of the running watchd as they stand now, or without one those of the default folder.",
            "Drop-ins and sections of defaults are applied. With --all: the keys that no file has, too.",
        ]
    ) { (invocation, session) throws(Failure) in
        let read = ConfigurationFiles.read(arguments: try files(session))
        guard !read.diagnostics.contains(where: { $0.severity == .error }) else {
            throw Failure(
                message: "the watch files cannot be read", details: read.diagnostics.map { $0.rendered() },
                exitCode: .failed)
        }
        let listed = WatchFile.list(
            read.texts, context: LoadContext(processors: 1), withDefaults: invocation.has(.all))
        let sections =
            try invocation.operands.first.map { name throws(Failure) in
                try named(name, listed)
            } ?? listed
        if session.isJSON {
            let list = JSONValue.array(sections.map(json))
            if let text = try? JSON.encode(["sections": list]) { session.print(json: text) }
        } else {
            session.print(Styled.blocks(sections.map { lines($0, session.screen) }))
        }
        return .done
    }

    /// Those that watchd was started with; drop-ins come with the files that they extend.
    /// None where no watchd runs.
    private static func files(_ session: Session) throws(Failure) -> [String] {
        let status: GetStatus.Reply
        do throws(Failure) {
            status = try session.reply(GetStatus.self, NoParameters())
        } catch  where error.exitCode == .unreachable {
            return []
        }
        guard !status.files.isEmpty || status.sections == 0 else {
            throw .permissionDenied
        }
        return status.files.filter { file in
            !status.files.contains { file.hasPrefix($0 + ".d/") }
        }
    }

    private static func named(_ name: String, _ sections: [SectionListing]) throws(Failure) -> [SectionListing] {
        // The handler of a source's own action stands in the source.
        let bare = name.hasPrefix("handler/") ? String(name.dropFirst("handler/".count)) : name
        let exact = sections.filter { $0.name == name }
        let found = exact.isEmpty ? sections.filter { $0.name.split(separator: "/").last == bare[...] } : exact
        guard found.isEmpty else { return found }
        let nearest = Spelling.nearest(to: name, among: sections.map(\.name))
        throw Failure(
            message: "there is no section “\(name)”",
            help: nearest.map { "did you mean “\($0)”?" } ?? "watchctl cat shows all of them", exitCode: .failed)
    }

    private static func lines(_ section: SectionListing, _ screen: Screen) -> [Styled] {
        var table = Table([.init(title: "", isFlexible: true, isWrapped: true), .init(title: "")])
        table.add([Styled(section.title, .bold), Styled(place(section.location), .dim)])
        for key in section.keys {
            let isUsual = key.location == nil
            table.add([
                Styled("\(key.name)=\(key.value)", isUsual ? .dim : .plain),
                Styled(key.location.map(place) ?? "default", .dim),
            ])
        }
        return table.lines(width: screen.width, titled: false)
    }

    private static func place(_ location: SourceLocation) -> String { "\(location.file):\(location.line)" }

    private static func json(_ section: SectionListing) -> JSONValue {
        let keys = section.keys.map { key in
            var members: [String: JSONValue] = ["key": .string(key.name), "value": .string(key.value)]
            if let location = key.location { members.merge(json(location)) { first, _ in first } }
            members["default"] = .bool(key.location == nil)
            return JSONValue.object(members)
        }
        let members: [String: JSONValue] = ["section": .string(section.name), "keys": .array(keys)]
        return .object(members.merging(json(section.location)) { first, _ in first })
    }

    private static func json(_ location: SourceLocation) -> [String: JSONValue] {
        ["file": .string(location.file), "line": .int(Int64(location.line))]
    }
}
