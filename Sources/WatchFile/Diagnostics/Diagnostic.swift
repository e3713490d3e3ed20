/// Something to tell about a watch file: what is wrong, where, and what was perhaps meant.
package struct Diagnostic: Error, Equatable, Sendable {
    package enum Severity: String, Sendable {
        /// The files cannot be used.
        case error
        case warning
    }

    /// Line and column count from 1, columns in bytes; both are `nil` when it is about the file as a whole.
    package struct Location: Hashable, Sendable {
        package var file: String
        package var line: Int?
        package var column: Int?

        package init(file: String, line: Int? = nil, column: Int? = nil) {
            self.file = file
            self.line = line
            self.column = column
        }
    }

    package var severity: Severity
    package var location: Location
    /// A sentence without full stop.
    package var message: String
    /// The line without its end, as it stands in the file.
    package var sourceLine: [UInt8]?
    /// Bytes of the line that are meant, from `location.column` on.
    package var length: Int
    /// The nearest valid spelling.
    package var suggestion: String?

    package init(
        severity: Severity = .error, location: Location, message: String, sourceLine: [UInt8]? = nil, length: Int = 0,
        suggestion: String? = nil
    ) {
        self.severity = severity
        self.location = location
        self.message = message
        self.sourceLine = sourceLine
        self.length = length
        self.suggestion = suggestion
    }

    /// The message, with the suggestion.
    package var sentence: String {
        message + (suggestion.map { "; did you mean \($0)?" } ?? "")
    }

    /// `FILE:LINE:COLUMN: error: SENTENCE`, then the line and the caret; no newline at the end.
    ///
    /// Bytes that a terminal would act on, or that are not UTF-8, are escaped; a very long line is cut.
    package func rendered() -> String {
        var place = Printable.text(Array(location.file.utf8))
        if let line = location.line { place += ":\(line)" }
        if let column = location.column { place += ":\(column)" }
        let head = "\(place): \(severity.rawValue): \(Printable.text(Array(sentence.utf8)))"
        guard let sourceLine, let column = location.column else { return head }
        let excerpt = Excerpt(of: sourceLine, from: column - 1, length: length)
        return head + "\n" + excerpt.line + "\n" + excerpt.caret
    }
}
