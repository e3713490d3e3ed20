import LinuxSystem

/// The programs that were built together with the tests.
package enum Products {
    /// The path of one of them: it stands in the folder of the running test program, or in one above.
    package static func path(_ name: String) throws -> String {
        let program = try Linux.readlink("/proc/self/exe")
        let arguments = CommandLine.arguments.filter { $0.hasPrefix("/") }
        for start in [String(decoding: program, as: UTF8.self)] + arguments {
            var folder = start[...]
            while let slash = folder.lastIndex(of: "/") {
                folder = folder[..<slash]
                let candidate = "\(folder)/\(name)"
                if (try? Linux.stat(candidate))?.kind == .regular { return candidate }
            }
        }
        throw Missing(description: "\(name) was not built beside the tests")
    }

    package struct Missing: Error, CustomStringConvertible {
        package var description: String
    }
}
