/// A value in a JSON text that `JSONValue` cannot keep as it stands: a member named twice, a number that has no exact
/// place in 64 bits or is beyond a double, half of a surrogate pair, more combining marks in a row than the text may
/// have.
package struct JSONFault: Error, Equatable, Sendable {
    /// Names of members from the outermost to the one at fault; elements of arrays have none.
    package var path: [String]
    /// A sentence without its end, which names what is at fault.
    package var reason: String

    package init(path: [String], reason: String) {
        self.path = path
        self.reason = reason
    }

    static func twice(_ path: [String]) -> JSONFault {
        JSONFault(path: path, reason: "it has \(place(path)) twice")
    }

    /// - Parameter escape: as it is written.
    static func half(_ path: [String], _ escape: String) -> JSONFault {
        JSONFault(path: path, reason: "\(place(path)) has \(escape), which is half of a character")
    }

    static func marks(_ path: [String], _ limit: Int) -> JSONFault {
        JSONFault(path: path, reason: "\(place(path)) has more than \(limit) combining marks in a row")
    }

    static func wholeNumber(_ path: [String], _ digits: String) -> JSONFault {
        let rule = "whole numbers have 64 bits with their sign: write it as a string"
        return JSONFault(path: path, reason: "\(place(path)) is \(shown(digits)), and \(rule)")
    }

    static func number(_ path: [String], _ digits: String) -> JSONFault {
        let rule = "which no number of 64 bits comes near: write it as a string"
        return JSONFault(path: path, reason: "\(place(path)) is \(shown(digits)), \(rule)")
    }

    /// `“a.b”` for people.
    private static func place(_ path: [String]) -> String {
        path.isEmpty ? "a value" : "“\(path.joined(separator: "."))”"
    }

    private static func shown(_ number: String) -> String { number.count > 60 ? number.prefix(60) + "…" : number }
}
