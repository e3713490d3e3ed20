/// Collects what is wrong; keeps going.
struct Problems {
    private var found: [(file: Int, diagnostic: Diagnostic)] = []
    private var seen: Set<Place> = []
    private var untold = 0
    private var hasUntoldError = false
    private(set) var hasError = false
    /// The line told about last: many diagnostics of one long line share its bytes.
    private var lastLine: (file: Int, number: Int, bytes: [UInt8])?

    private struct Place: Hashable {
        var location: Diagnostic.Location
        var message: String
    }

    /// About a piece of text; only its first line is marked.
    mutating func error(_ message: String, at text: SourceText, suggestion: String? = nil) {
        add(.error, message, at: text, suggestion: suggestion)
    }

    mutating func warning(_ message: String, at text: SourceText, suggestion: String? = nil) {
        add(.warning, message, at: text, suggestion: suggestion)
    }

    /// About a file as a whole; `index` is its place among the loaded files.
    mutating func error(_ message: String, in file: String, index: Int) {
        add(Diagnostic(location: .init(file: file), message: message), file: index)
    }

    /// Diagnostics beyond these suggest no spelling: each word is compared with every name there is.
    private static let mostWithSuggestion = 100

    /// The nearest valid spelling; `nil` also when many diagnostics are told already.
    func nearest(to word: String, among candidates: @autoclosure () -> [String]) -> String? {
        found.count < Self.mostWithSuggestion ? Spelling.nearest(to: word, among: candidates()) : nil
    }

    /// In the order of files and lines.
    var sorted: [Diagnostic] {
        let ordered = found.enumerated().sorted { left, right in
            let (a, b) = (left.element, right.element)
            return (a.file, a.diagnostic.location.line ?? 0, a.diagnostic.location.column ?? 0, left.offset)
                < (b.file, b.diagnostic.location.line ?? 0, b.diagnostic.location.column ?? 0, right.offset)
        }
        var result = ordered.map(\.element.diagnostic)
        if untold > 0, let last = result.last {
            result.append(
                Diagnostic(
                    severity: hasUntoldError ? .error : .warning, location: .init(file: last.location.file),
                    message: "\(untold) more are not shown"))
        }
        return result
    }

    private mutating func add(
        _ severity: Diagnostic.Severity, _ message: String, at text: SourceText, suggestion: String?
    ) {
        if severity == .error { hasError = true }
        guard found.count < WatchFile.maximumDiagnostics else {
            untold += 1
            if severity == .error { hasUntoldError = true }
            return
        }
        let (line, column) = text.position
        let bytes = bytes(ofLine: line, in: text.file)
        let diagnostic = Diagnostic(
            severity: severity, location: .init(file: text.file.name, line: line, column: column), message: message,
            sourceLine: bytes, length: max(1, min(text.lengthOnFirstLine, bytes.count - column + 1)),
            suggestion: suggestion)
        add(diagnostic, file: text.file.index)
    }

    private mutating func add(_ diagnostic: Diagnostic, file: Int) {
        if diagnostic.severity == .error { hasError = true }
        // A mistake in a section of defaults is met again in each section that takes them.
        guard seen.insert(Place(location: diagnostic.location, message: diagnostic.message)).inserted else { return }
        found.append((file, diagnostic))
    }

    private mutating func bytes(ofLine number: Int, in file: SourceFile) -> [UInt8] {
        if let lastLine, lastLine.file == file.index, lastLine.number == number { return lastLine.bytes }
        let bytes = Array(file.line(number))
        lastLine = (file.index, number, bytes)
        return bytes
    }
}
