import Glibc
package import LinuxSystem

/// Runs `body` with the path of a new folder, which is removed afterwards with all that it holds.
package func withTemporaryFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
    let path = try makeTemporaryFolder()
    defer { removeTree(Array(path.utf8)) }
    return try body(path)
}

func makeTemporaryFolder() throws -> String {
    var template = Array("/tmp/watchd-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
        throw SystemError(call: "mkdtemp", errno: Errno(errno))
    }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

func removeTree(_ path: [UInt8]) {
    for entry in (try? Linux.readFolder(path)) ?? [] {
        let child = path + [UInt8(ascii: "/")] + entry.name
        if entry.kind == .folder { removeTree(child) } else { try? Linux.unlink(child) }
    }
    try? Linux.rmdir(path)
}

extension Linux {
    /// Makes a file, or replaces what it says.
    package static func writeFile(_ path: some SystemPath, _ text: String) throws {
        let path = path.pathBytes
        try withOtherDescriptors { () throws(SystemError) in
            try open(path, [.writing, .creating, .truncating]).use { descriptor throws(SystemError) in
                try writeAll(descriptor, text.utf8)
            }
        }
    }
}
