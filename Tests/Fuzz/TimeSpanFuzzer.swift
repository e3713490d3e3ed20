import Schedule

/// The entry point of libFuzzer: whatever the text, reading it as a time span or an instant ends, and what is read is
/// the same when it is written and read again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTimeSpan(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    do throws(TimeSpan.ParseError) {
        let span = try TimeSpan(parsing: text)
        precondition(!span.description.isEmpty)
        // A number of units is a signed one where it is read.
        if span <= TimeSpan(microseconds: .max / 2) {
            precondition((try? TimeSpan(parsing: span.description)) == span)
        }
    } catch {
        precondition(error.range.lowerBound >= 0 && error.range.upperBound <= text.utf8.count)
        precondition(!error.description.isEmpty)
    }
    if let instant = try? Timestamp(parsing: text) {
        precondition((try? Timestamp(parsing: instant.description)) == instant)
    }
    return 0
}
