import JSON
import Varlink

/// Why a verb could not do what it was asked.
struct Failure: Error, Equatable {
    /// The failure and its cause: one sentence.
    var message: String
    /// The remedy.
    var help: String?
    /// Lines that are shown before, such as the diagnostics of a watch file.
    var details: [String] = []
    var exitCode: ExitCode

    /// For people: the details, then one line.
    var text: String {
        let sentence = "watchctl: " + ([message] + (help.map { [$0] } ?? [])).joined(separator: "; ")
        return (details.flatMap(Styled.block) + [Styled(sentence)]).map { $0.rendered(coloured: false) + "\n" }.joined()
    }

    /// One object on one line.
    var json: String {
        var members: [String: JSONValue] = [
            "error": .string(message), "exit_status": .int(Int64(exitCode.rawValue)),
        ]
        if let help { members["help"] = .string(help) }
        if !details.isEmpty { members["details"] = .array(details.map { .string($0) }) }
        return (try? JSON.encode(members)).map(Session.line(json:)) ?? text
    }

    static let isNoText = usage(
        "an argument is not UTF-8",
        help: "only paths, commands and values that --env NAME takes over may be any bytes; "
            + "to explain, a path begins with /, ./ or ../")

    static func usage(_ message: String, help: String? = nil) -> Failure {
        Failure(message: message, help: help, exitCode: .usage)
    }
}
