import Glibc

/// What `/proc/PID/stat` tells of a process's place among the others.
package struct ProcessPlace: Hashable, Sendable {
    /// 0 for the first process of a namespace.
    package var parentID: Int32
    /// In an uninterruptible sleep: what reads its memory could sleep with it.
    package var isStuck: Bool
}

extension Linux {
    /// `getppid(2)`.
    package static var parentProcessID: Int32 { getppid() }

    /// Its parent now, from `/proc/PID/stat` (`proc_pid_stat(5)`), which never waits for the process; `nil`: there is no
    /// such process.
    package static func place(of process: Int32) -> ProcessPlace? {
        // The second field, the name, may hold spaces and parentheses.
        guard let text = try? readFile("/proc/\(process)/stat", limit: 4096),
            let end = text.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
        guard fields.count > 1, let parent = Int32(String(decoding: fields[1], as: UTF8.self)) else { return nil }
        return ProcessPlace(parentID: parent, isStuck: fields[0].elementsEqual("D".utf8))
    }

    /// A variable of the environment with which a process was started, from `/proc/PID/environ`; `nil`: it has none, or
    /// may not be looked at. More than 256 KiB of environment are not read.
    package static func environment(_ name: String, of process: Int32) -> [UInt8]? {
        guard let text = try? readFile("/proc/\(process)/environ", limit: 256 << 10) else { return nil }
        let prefix = Array("\(name)=".utf8)
        return text.split(separator: 0).first { $0.starts(with: prefix) }.map { Array($0.dropFirst(prefix.count)) }
    }

    /// `execvp(3)`: becomes another program, looked up in `PATH`; returns only with the error.
    ///
    /// - Parameter words: the program and its arguments, without NULs.
    package static func execute(_ words: [String]) -> SystemError {
        guard let program = words.first else { return SystemError(call: "execvp", errno: .invalidArgument) }
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        arguments.append(nil)
        execvp(program, arguments)
        return SystemError(call: "execvp", detail: program, errno: Errno(errno))
    }
}
