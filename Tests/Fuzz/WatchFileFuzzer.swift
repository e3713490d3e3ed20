import Schedule
import WatchFile

/// The entry point of libFuzzer: whatever the bytes, loading them ends, and says something exactly when it fails.
///
/// The first byte says where a drop-in begins, so that the merging of files is met too.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWatchFile(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let first = bytes.first else { return 0 }
    let rest = bytes.dropFirst()
    let cut = first < 128 ? rest.endIndex : rest.startIndex + rest.count * Int(first - 128) / 128
    var texts = [WatchFileText(file: "fuzz.watch", bytes: Array(rest[..<cut]))]
    if cut < rest.endIndex {
        texts.append(
            WatchFileText(file: "fuzz.watch.d/more.watch", bytes: Array(rest[cut...]), dropInOf: "fuzz.watch"))
    }
    let result = WatchFile.load(texts, context: LoadContext(processors: 4))
    for diagnostic in result.diagnostics { precondition(!diagnostic.rendered().isEmpty) }
    precondition((result.configuration == nil) == result.diagnostics.contains { $0.severity == .error })
    checkTimes(String(decoding: rest.prefix(64), as: UTF8.self))
    return 0
}

/// What is a time span or an instant is the same when it is written and read again.
private func checkTimes(_ text: String) {
    if let span = try? TimeSpan(parsing: text), span <= TimeSpan(microseconds: .max / 2) {
        precondition((try? TimeSpan(parsing: span.description)) == span)
    }
    if let instant = try? Timestamp(parsing: text) {
        precondition((try? Timestamp(parsing: instant.description)) == instant)
    }
}
