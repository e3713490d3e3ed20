/// A JSON text (RFC 8259) that has been read, in time and memory that are linear in its bytes.
package struct JSONText: Sendable {
    /// The bounds of a text.
    package struct Limits: Sendable {
        /// Arrays and objects in one another; deeper text is refused before it is followed.
        package var nesting: Int
        /// Combining marks in a row, in a name or string. Swift compares and hashes text by its canonical form, and
        /// that takes the square of their number.
        package var combiningMarks: Int

        package init(nesting: Int, combiningMarks: Int) {
            self.nesting = nesting
            self.combiningMarks = combiningMarks
        }

        /// Of text from somebody else. The marks are those of the stream-safe text format (UAX #15).
        package static let foreign = Limits(nesting: 128, combiningMarks: 30)

        /// Of text that was checked before, or comes from who is trusted.
        package static let trusted = Limits(nesting: 512, combiningMarks: .max)
    }

    /// The value of the text. A value that cannot be kept as it is written becomes `null`, in a string U+FFFD.
    package let value: JSONValue
    /// The first thing of it that cannot be kept.
    package let fault: JSONFault?

    /// - Throws: for bytes that are no JSON, and for text nested too deep.
    package init(_ bytes: [UInt8], limits: Limits = .trusted) throws(JSONSyntaxError) {
        var reader = JSONReader(bytes, limits: limits)
        value = try reader.text()
        fault = reader.fault
    }
}

/// Why bytes are no JSON text.
package enum JSONSyntaxError: Error, Equatable, Sendable {
    case notJSON
    /// Than so many levels.
    case tooDeep(Int)

    /// `it is …`
    package var reason: String {
        switch self {
        case .notJSON: "no JSON"
        case .tooDeep(let nesting): "nested deeper than \(nesting)"
        }
    }
}
