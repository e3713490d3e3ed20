import LinuxSystem

/// A new folder of a test, with short names for what is in it.
package struct Folder: Sendable {
    /// Absolute and short, so that a socket's path fits (108 bytes, `unix(7)`).
    package let path: String

    /// Runs `body` with a new folder, which is removed afterwards with all that it holds.
    package static func with<Result>(_ body: (Folder) throws -> Result) throws -> Result {
        try withTemporaryFolder { path in
            // Other users are to reach what is in it.
            try Linux.chmod(path, 0o755)
            return try body(Folder(path: path))
        }
    }

    /// The path of something in it.
    package subscript(name: String) -> String { "\(path)/\(name)" }

    package subscript(name: [UInt8]) -> [UInt8] { Array(path.utf8) + [UInt8(ascii: "/")] + name }

    /// Makes a file, or replaces what it says.
    /// The last that happens to the file is its close, and nobody has it open afterwards.
    package func write(_ name: String, _ text: String, mode: UInt32 = 0o644) throws {
        try write(Array(name.utf8), Array(text.utf8), mode: mode)
    }

    package func write(_ name: [UInt8], _ bytes: [UInt8], mode: UInt32? = nil) throws {
        try withOtherDescriptors { () throws(SystemError) in
            try Linux.open(self[name], [.writing, .creating, .truncating]).use { descriptor throws(SystemError) in
                try Linux.writeAll(descriptor, bytes)
                if let mode { try Linux.fchmod(descriptor, mode) }
            }
        }
    }

    /// The file is there whole or not at all, as after the `rename(2)` of a careful program: no look sees it empty.
    package func replace(_ name: String, _ text: String) throws {
        let whole = "\(name.split(separator: "/").joined(separator: "-")).whole"
        try write(whole, text)
        try Linux.rename(self[whole], to: self[name])
    }

    package func append(_ name: String, _ text: String) throws {
        try withOtherDescriptors { () throws(SystemError) in
            try Linux.open(self[name], [.writing, .creating, .appending]).use { descriptor throws(SystemError) in
                try Linux.writeAll(descriptor, text.utf8)
            }
        }
    }

    package func makeFolder(_ name: String) throws { try Linux.mkdir(self[name], mode: 0o755) }

    /// What a file says; empty when it is not there.
    package func bytes(_ name: String) -> [UInt8] { (try? Linux.readFile(self[name], limit: 64 << 20)) ?? [] }

    package func text(_ name: String) -> String { String(decoding: bytes(name), as: UTF8.self) }

    package func lines(_ name: String) -> [String] {
        text(name).split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    package func exists(_ name: String) -> Bool { (try? Linux.lstat(self[name])) != nil }
}
