import LinuxSystem
import Store
import WatchFile

/// The texts of a configuration that is or was in force, as they stand in the state folder, with the operands of the
/// command line that led to them: the folder may be used for other watch files, too.
struct LastConfiguration: Equatable {
    /// Absolute; none: the default place.
    var operands: [String]
    var texts: [WatchFileText]

    init(of arguments: [String], _ texts: [WatchFileText] = []) {
        let here = (try? Linux.realPath(".")).map { String(decoding: $0, as: UTF8.self) } ?? "."
        operands = arguments.map { $0.hasPrefix("/") ? $0 : "\(here)/\($0)" }
        self.texts = texts
    }

    // MARK: Bytes

    /// The kind of file, and the version of what follows.
    private static let head = "watchd configuration 1\n"

    var bytes: [UInt8] {
        var writer = ByteWriter(capacity: texts.reduce(1024) { $0 + $1.bytes.count + 256 })
        writer.put(Self.head)
        writer.put(UInt64(operands.count))
        for operand in operands { writer.put(operand) }
        writer.put(UInt64(texts.count))
        for text in texts {
            writer.put(text.file)
            writer.put(text.dropInOf ?? "")
            writer.put(text.bytes)
        }
        return writer.bytes
    }

    init(_ bytes: [UInt8]) throws(DamagedBytes) {
        var reader = ByteReader(bytes)
        guard try reader.text() == Self.head else { throw DamagedBytes() }
        operands = []
        for _ in 0..<(try reader.count(ofAtLeast: 1)) { operands.append(try reader.text()) }
        texts = []
        for _ in 0..<(try reader.count(ofAtLeast: 3)) {
            let (file, base) = (try reader.text(), try reader.text())
            texts.append(
                WatchFileText(file: file, bytes: try reader.content(), dropInOf: base.isEmpty ? nil : base))
        }
        guard reader.rest == 0 else { throw DamagedBytes() }
    }
}
