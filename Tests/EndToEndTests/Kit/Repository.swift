import LinuxSystem

/// The files that this program was built from.
enum Repository {
    static let root: String = {
        // …/Tests/EndToEndTests/Kit/Repository.swift
        var folder = #filePath[...]
        for _ in 0..<4 { folder = folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)] }
        return String(folder)
    }()

    static func files(_ folder: String, suffix: String = ".swift") throws -> [String] {
        try Linux.readFolder(folder).flatMap { entry -> [String] in
            let path = "\(folder)/\(String(decoding: entry.name, as: UTF8.self))"
            if entry.kind == .folder { return try files(path, suffix: suffix) }
            return path.hasSuffix(suffix) ? [path] : []
        }
    }
}
