import Glibc

/// A process that has a file open for writing.
package struct FileWriter: Equatable, Sendable {
    package var process: Int32
    /// Of its program (`proc_pid_comm(5)`); empty where it is not known.
    package var name: [UInt8]
}

extension Linux {
    /// The processes that have a file open for writing by this name, from `/proc/PID/fd` and `fdinfo`; those that this
    /// process may not look at are missing.
    ///
    /// - Parameters:
    ///   - limit: no more are looked for.
    ///   - deadline: monotonic microsecond at which the search ends.
    package static func writers(ofFile path: [UInt8], atMost limit: Int, until deadline: Int64) -> [FileWriter] {
        let file = (try? realPath(path)) ?? path
        var writers: [FileWriter] = []
        for entry in (try? readFolder("/proc")) ?? [] {
            guard writers.count < limit, now(.monotonic) < deadline else { break }
            guard let process = Int32(String(decoding: entry.name, as: UTF8.self)), writes(process, file) else {
                continue
            }
            let name = (try? readFile("/proc/\(process)/comm", limit: 256)) ?? []
            writers.append(FileWriter(process: process, name: name.filter { $0 != UInt8(ascii: "\n") }))
        }
        return writers.sorted { $0.process < $1.process }
    }

    private static func writes(_ process: Int32, _ file: [UInt8]) -> Bool {
        ((try? readFolder("/proc/\(process)/fd")) ?? []).contains { entry in
            let number = String(decoding: entry.name, as: UTF8.self)
            return (try? readlink("/proc/\(process)/fd/\(number)")) == file && isWritable(process, number)
        }
    }

    /// `flags:` are those of `open(2)`, in octal.
    private static func isWritable(_ process: Int32, _ number: String) -> Bool {
        let text = (try? readFile("/proc/\(process)/fdinfo/\(number)", limit: 4096)) ?? []
        let line = text.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: "flags:".utf8) }
        let digits = line.map {
            String(decoding: $0.drop { $0 < UInt8(ascii: "0") || $0 > UInt8(ascii: "7") }, as: UTF8.self)
        }
        let flags = digits.flatMap { Int32($0, radix: 8) } ?? O_RDONLY
        return flags & O_ACCMODE != O_RDONLY
    }
}
