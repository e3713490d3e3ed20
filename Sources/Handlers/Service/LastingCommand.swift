/// A command of a unit in words that a `daemon-reload` leaves as they are: the manager writes `;` and `$` in a way in
/// which they are not read back (Systemd.md, fact 42). A shell decodes such a command, and becomes it.
enum LastingCommand {
    static let shell: [UInt8] = Array("/bin/sh".utf8)
    /// Bytes of one word that the kernel takes (`execve(2)`).
    private static let longestWord = 128 << 10

    /// The words of the shell; `nil`: the command needs none, or is too long for one.
    static func words(for command: [[UInt8]]) -> [[UInt8]]? {
        guard command.contains(where: { $0.contains { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "$") } }) else {
            return nil
        }
        let script = Array("exec".utf8) + command.flatMap { Array(" ".utf8) + quoted($0) }
        let text = Array("eval \"`printf %b '".utf8) + script.flatMap(encoded) + Array("'`\"".utf8)
        return text.count < longestWord ? [shell, Array("-c".utf8), text] : nil
    }

    private static func quoted(_ word: [UInt8]) -> [UInt8] {
        let quote = UInt8(ascii: "'")
        return [quote] + word.flatMap { $0 == quote ? Array("'\\''".utf8) : [$0] } + [quote]
    }

    /// A byte of the argument of `printf %b`, which stands in quotation marks of three kinds.
    private static func encoded(_ byte: UInt8) -> [UInt8] {
        let isPlain = byte >= 0x20 && !"'\"`\\;$".utf8.contains(byte)
        return isPlain
            ? [byte] : Array("\\0".utf8) + [byte >> 6, byte >> 3 & 7, byte & 7].map { $0 + UInt8(ascii: "0") }
    }
}
