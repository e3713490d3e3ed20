import LinuxSystem

/// A path among the arguments: its bytes as they are, or the spelling in which watchctl prints them (`\xHH`, `\\`).
enum PathArgument {
    /// Absolute: the daemon has another working directory than the caller.
    static func path(_ argument: [UInt8]) throws(Failure) -> [UInt8] {
        if argument.isEmpty { throw .usage("an empty path means nothing", help: "the folder itself is “.”") }
        let literal = try absolute(argument)
        // A file whose name only looks like an escape is itself.
        guard let printed = unescaped(argument), (try? Linux.lstat(literal)) == nil else { return literal }
        return try absolute(printed)
    }

    /// The bytes that are printed so; `nil`: none are, or they need no escape.
    static func unescaped(_ text: [UInt8]) -> [UInt8]? {
        let backslash = UInt8(ascii: "\\")
        guard text.contains(backslash) else { return nil }
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            guard byte == backslash else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case backslash: bytes.append(backslash)
            case UInt8(ascii: "x"):
                guard let byte = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16), byte != 0 else {
                    return nil
                }
                bytes.append(byte)
                rest = rest.dropFirst(2)
            default: return nil
            }
        }
        return Array(bytes.printable.utf8) == text ? bytes : nil
    }

    private static func absolute(_ argument: [UInt8]) throws(Failure) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        // A shell completes the name of a folder with a slash, which watchd has no use for.
        let end = argument.lastIndex { $0 != slash } ?? 0
        let path = Array(argument.prefix(end + 1))
        if path.first == slash { return path }
        guard let folder = try? Linux.readlink("/proc/self/cwd") else {
            throw .usage(
                "the path “\(path.printable)” is relative to a folder that is not known", help: "write it in full")
        }
        return (folder == [slash] ? [] : folder) + [slash] + path
    }
}
